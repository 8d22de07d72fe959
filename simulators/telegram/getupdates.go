package telegram

import (
	"context"
	"encoding/json"
	"time"
)

// rawResult is an answer that is already JSON.
type rawResult []byte

// getUpdates follows the real order of events: an earlier poll is ended, the
// offset confirms, then the call waits for something to hand out.
func (s *Server) getUpdates(ctx context.Context, c *call) (any, *refusal) {
	offset := c.args.number("offset")
	limit := int(c.args.number("limit"))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	timeout := min(max(c.args.number("timeout"), 0), 50)

	s.mu.Lock()
	in := &c.account.inbox
	if in.hook.url != "" {
		s.mu.Unlock()
		return nil, conflict(textWebhook)
	}
	in.endPoll(textOusted)
	if refused := in.allow(c.args); refused != nil {
		s.mu.Unlock()
		return nil, refused
	}
	for i := range in.ghosts {
		in.ghosts[i].polls--
	}
	switch {
	case offset > 0:
		s.confirm(c.account, offset, false)
	case offset < 0:
		// Only the last -offset updates stay.
		if n := int64(len(in.waiting)) + offset; n > 0 {
			s.confirm(c.account, in.waiting[n].id, true)
		}
	}
	out := s.batch(c.account, limit)
	if len(out) > 0 || timeout == 0 {
		raw := s.renderBatch(out, c.fault)
		s.mu.Unlock()
		return raw, nil
	}
	wait := in.nextRedelivery(s.opts.Now(), time.Duration(timeout)*time.Second)
	me := &poller{wake: make(chan struct{}, 1), ousted: make(chan struct{})}
	in.poller = me
	s.books.Notify()
	s.mu.Unlock()
	return s.wait(ctx, c, me, limit, wait)
}

// wait blocks until an update, the timeout, or a rival poll.
func (s *Server) wait(ctx context.Context, c *call, me *poller, limit int, timeout time.Duration) (any, *refusal) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var gone bool
	select {
	case <-me.wake:
	case <-timer.C:
	case <-me.ousted:
		gone = hasHungUp(ctx)
	case <-ctx.Done():
		gone = true
	case <-s.stop.Done():
		gone = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-me.ousted:
		if gone {
			c.cut = true
			return rawResult("[]"), nil
		}
		return nil, conflict(me.reason)
	default:
	}
	c.account.inbox.poller = nil
	if gone {
		c.cut = true
		return rawResult("[]"), nil
	}
	return s.renderBatch(s.batch(c.account, limit), c.fault), nil
}

// notice is how long the end of a connection may go unnoticed.
const notice = time.Second

// hasHungUp says whether whoever polled had left before the rival came. A client
// that hangs up and is followed at once by another, which polls, is no conflict;
// but the end of the one's connection and the other's request are read by two
// goroutines, in any order.
func hasHungUp(ctx context.Context) bool {
	t := time.NewTimer(notice)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}

// renderBatch renders a batch. The caller holds the lock.
func (s *Server) renderBatch(out []pending, f *Fault) rawResult {
	if f != nil && f.Trouble == Reordered {
		out = append([]pending(nil), out...)
		s.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	size := 2
	for _, p := range out {
		size += len(p.raw) + 1
	}
	raw := append(make([]byte, 0, size), '[')
	for i, p := range out {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, p.raw...)
	}
	if len(out) > 0 {
		s.books.Notify()
	}
	return append(raw, ']')
}

// allow remembers allowed_updates; when the argument is absent the previous
// setting stays, an empty list means the default set.
func (in *inbox) allow(args params) *refusal {
	raw, ok := args["allowed_updates"]
	if !ok || raw == "" {
		return nil
	}
	var kinds []string
	if err := json.Unmarshal([]byte(raw), &kinds); err != nil {
		return badRequest("can't parse allowed updates JSON object")
	}
	if len(kinds) == 0 {
		kinds = nil
	}
	in.allowed = kinds
	return nil
}
