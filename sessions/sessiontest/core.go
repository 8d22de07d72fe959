package sessiontest

import "parley/sessions"

// core is what every model knows of a mailbox row.
type core struct {
	token         string
	touched, read uint64
	owner         sessions.Worker
	last          string // nonce of who owned it last
	epoch, prior  int64
	attempts      int
}

func (c *core) fence() sessions.Fence {
	return sessions.Fence{Token: c.token, Epoch: c.epoch, Nonce: c.owner.Nonce}
}

func (c *core) holds(f sessions.Fence) bool { return f.Nonce != "" && f == c.fence() }

// gaveUp is whether f was the last fence, and nobody took the mailbox since.
func (c *core) gaveUp(f sessions.Fence) bool {
	return f.Nonce != "" && c.owner.Nonce == "" && f == sessions.Fence{Token: c.token, Epoch: c.epoch, Nonce: c.last}
}

func (c *core) giveUp() {
	c.last, c.owner, c.prior = c.owner.Nonce, sessions.Worker{}, 0
}
