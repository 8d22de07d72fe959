package signal

import "parley/channels"

// Remember implements [channels.Rememberer].
func (c *Channel) Remember(known []channels.Wait, keep func(channels.Wait)) {
	c.waits.Remember(known, keep)
}
