package telegram

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"parley/simulators/internal/stage"
)

// rawResult is an answer that is already JSON.
type rawResult []byte

// getUpdates follows the real order of events: an earlier poll is ended, the
// offset confirms, then the call waits for something to hand out.
func (c *call) getUpdates() any {
	offset := c.args.number("offset")
	limit := int(c.args.number("limit"))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	timeout := min(max(c.args.number("timeout"), 0), 50)

	in := &c.account.inbox
	if in.hook.url != "" {
		panic(conflict(textWebhook))
	}
	in.endPoll(textOusted)
	in.allow(c.args)
	for i := range in.ghosts {
		in.ghosts[i].polls--
	}
	switch {
	case offset > 0:
		c.confirm(c.account, offset, false)
	case offset < 0:
		// Only the last -offset updates stay.
		if n := int64(len(in.waiting)) + offset; n > 0 {
			c.confirm(c.account, in.waiting[n].id, true)
		}
	}
	out := c.batch(c.account, limit)
	if len(out) > 0 || timeout == 0 {
		return c.renderBatch(out, c.fault)
	}
	wait := in.nextRedelivery(c.opts.Now(), time.Duration(timeout)*time.Second)
	me := &poller{wake: make(chan struct{}, 1), ousted: make(chan struct{})}
	in.poller = me
	c.books.Notify()
	return c.wait(me, limit, wait)
}

// wait blocks until an update, the timeout, or a rival poll, without the lock.
func (c *call) wait(me *poller, limit int, timeout time.Duration) any {
	gone := c.sleep(me, timeout)
	select {
	case <-me.ousted:
		if !gone {
			panic(conflict(me.reason))
		}
	default:
		c.account.inbox.poller = nil
	}
	if gone {
		panic(http.ErrAbortHandler)
	}
	return c.renderBatch(c.batch(c.account, limit), c.fault)
}

// sleep is the waiting itself; gone: the caller has hung up, or the server ends.
func (c *call) sleep(me *poller, timeout time.Duration) (gone bool) {
	c.mu.Unlock()
	defer c.mu.Lock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-me.wake:
	case <-timer.C:
	case <-me.ousted:
		return !stage.Pause(notice, c.ctx, c.ctx)
	case <-c.ctx.Done():
		return true
	case <-c.stop.Done():
		return true
	}
	return false
}

// notice is how long the end of a connection may go unnoticed. A client that hangs up
// and is followed at once by another, which polls, is no conflict; but the end of the
// one's connection and the other's request are read by two goroutines, in any order.
const notice = time.Second

// renderBatch renders a batch. The caller holds the lock.
func (s *inboxes) renderBatch(out []pending, f *Fault) rawResult {
	if f.trouble() == Reordered {
		out = slices.Clone(out)
		s.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	raws := make([][]byte, 0, len(out))
	for _, p := range out {
		raws = append(raws, p.raw)
	}
	if len(out) > 0 {
		s.books.Notify()
	}
	return slices.Concat([]byte("["), bytes.Join(raws, []byte(",")), []byte("]"))
}

// allow remembers allowed_updates; when the argument is absent the previous
// setting stays, an empty list means the default set.
func (in *inbox) allow(args params) {
	raw, ok := args["allowed_updates"]
	if !ok || raw == "" {
		return
	}
	var kinds []string
	if err := json.Unmarshal([]byte(raw), &kinds); err != nil {
		panic(badRequest("can't parse allowed updates JSON object"))
	}
	in.allowed = kinds
	if len(kinds) == 0 {
		in.allowed = nil
	}
}
