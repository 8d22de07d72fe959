package telegram

import "parley/channels"

// RestoreWaits implements [channels.WaitRestorer].
func (c *Channel) RestoreWaits(known []channels.Wait, keep func(channels.Wait)) {
	c.waits.Restore(known, keep)
}
