package simtest

import (
	"context"
	"fmt"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/transcript"
)

// store is the one store as a process reaches it: every operation waits at the
// gate.
type store struct {
	*memtest.Store
	p *process
}

func (s *store) op(kind, token string, about ...any) *op {
	return &op{kind: kind, token: token, what: kind + " " + fmt.Sprint(append([]any{s.p.w.name(token)}, about...)...)}
}

func (s *store) fenced(kind string, f sessions.Fence, about ...any) *op {
	o := s.op(kind, f.Token, append([]any{fmt.Sprintf("/%d ", f.Epoch)}, about...)...)
	o.fence = &f
	return o
}

func (s *store) Heartbeat(ctx context.Context, w sessions.Worker, until time.Time) error {
	return call0(ctx, s.p, &op{kind: "beat", what: "beat"}, func() error { return s.Store.Heartbeat(ctx, w, until) })
}

func (s *store) Leave(ctx context.Context, w sessions.Worker) error {
	return call0(ctx, s.p, &op{kind: "leave", what: "leave"}, func() error { return s.Store.Leave(ctx, w) })
}

func (s *store) Touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	o := s.op("touch", t.Token, "@", t.Seq)
	if t.Take {
		o.what += " take"
		o.now = t.Now
	}
	return call2(ctx, s.p, o, func() (sessions.Mailbox, bool, error) { return s.Store.Touch(ctx, t) })
}

func (s *store) Reacquire(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Mailbox, error) {
	return call(ctx, s.p, s.fenced("reacquire", f), func() (sessions.Mailbox, error) { return s.Store.Reacquire(ctx, f, now) })
}

func (s *store) Recover(ctx context.Context, w sessions.Worker, now time.Time, n int) ([]sessions.Mailbox, error) {
	o := &op{kind: "recover", what: fmt.Sprint("recover ", n), now: now}
	return call(ctx, s.p, o, func() ([]sessions.Mailbox, error) { return s.Store.Recover(ctx, w, now, n) })
}

func (s *store) Held(ctx context.Context, w sessions.Worker) ([]sessions.Mailbox, error) {
	return call(ctx, s.p, &op{kind: "held", what: "held"}, func() ([]sessions.Mailbox, error) { return s.Store.Held(ctx, w) })
}

func (s *store) Release(ctx context.Context, f sessions.Fence) (sessions.Mailbox, bool, error) {
	return call2(ctx, s.p, s.fenced("release", f), func() (sessions.Mailbox, bool, error) { return s.Store.Release(ctx, f) })
}

func (s *store) Handover(ctx context.Context, f sessions.Fence) error {
	return call0(ctx, s.p, s.fenced("handover", f), func() error { return s.Store.Handover(ctx, f) })
}

func (s *store) Yield(ctx context.Context, f sessions.Fence, now time.Time) (bool, error) {
	return call(ctx, s.p, s.fenced("yield", f), func() (bool, error) { return s.Store.Yield(ctx, f, now) })
}

func (s *store) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	return call(ctx, s.p, s.op("mailbox", token), func() (sessions.Mailbox, error) { return s.Store.Mailbox(ctx, token) })
}

func (s *store) Controls(ctx context.Context, token string) ([]sessions.Control, error) {
	return call(ctx, s.p, s.op("controls", token), func() ([]sessions.Control, error) { return s.Store.Controls(ctx, token) })
}

func (s *store) Comply(ctx context.Context, f sessions.Fence, ids []string, read uint64, rs []sessions.Outgoing) error {
	return call0(ctx, s.p, s.fenced("comply", f, ids, "@", read), func() error { return s.Store.Comply(ctx, f, ids, read, rs) })
}

func (s *store) Open(ctx context.Context, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	s.p.w.mu.Lock()
	s.p.w.names[o.Turn.ID] = fmt.Sprintf("%s@%d", s.p.w.name(f.Token), o.Turn.Seq)
	s.p.w.mu.Unlock()
	return call2(ctx, s.p, s.fenced("open", f, "@", o.Turn.Seq), func() (sessions.Turn, bool, error) { return s.Store.Open(ctx, f, o) })
}

func (s *store) Join(ctx context.Context, f sessions.Fence, j sessions.Joining) (bool, error) {
	return call(ctx, s.p, s.fenced("join", f, "@", j.Seq), func() (bool, error) { return s.Store.Join(ctx, f, j) })
}

func (s *store) Resume(ctx context.Context, f sessions.Fence, now time.Time) (sessions.Turn, error) {
	return call(ctx, s.p, s.fenced("resume", f), func() (sessions.Turn, error) { return s.Store.Resume(ctx, f, now) })
}

func (s *store) Skip(ctx context.Context, f sessions.Fence, seq uint64) error {
	return call0(ctx, s.p, s.fenced("skip", f, "@", seq), func() error { return s.Store.Skip(ctx, f, seq) })
}

func (s *store) Answer(ctx context.Context, f sessions.Fence, c sessions.Command) (bool, error) {
	return call(ctx, s.p, s.fenced("answer", f, "@", c.Seq), func() (bool, error) { return s.Store.Answer(ctx, f, c) })
}

func (s *store) Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error) {
	return call(ctx, s.p, &op{kind: "known", what: "known"}, func() ([]bool, error) { return s.Store.Known(ctx, events...) })
}

func (s *store) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	return call(ctx, s.p, &op{kind: "history", what: "history"}, func() ([]transcript.Message, error) { return s.Store.Messages(ctx, id) })
}

func (s *store) Append(ctx context.Context, f sessions.Fence, turn string, ms ...transcript.Message) error {
	return call0(ctx, s.p, s.fenced("append", f, len(ms)), func() error { return s.Store.Append(ctx, f, turn, ms...) })
}

func (s *store) Post(ctx context.Context, f sessions.Fence, turn string, rs ...sessions.Outgoing) error {
	return call0(ctx, s.p, s.fenced("post", f, len(rs)), func() error { return s.Store.Post(ctx, f, turn, rs...) })
}

func (s *store) Begin(ctx context.Context, f sessions.Fence, turn string, step int, id string) (bool, error) {
	return call(ctx, s.p, s.fenced("begin", f, id), func() (bool, error) { return s.Store.Begin(ctx, f, turn, step, id) })
}

func (s *store) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	return call0(ctx, s.p, s.fenced("reserve", f), func() error { return s.Store.Reserve(ctx, f, c, r) })
}

func (s *store) Settle(ctx context.Context, f sessions.Fence, st costs.Settlement, ms ...transcript.Message) error {
	return call0(ctx, s.p, s.fenced("settle", f, len(ms)), func() error { return s.Store.Settle(ctx, f, st, ms...) })
}

func (s *store) Finish(ctx context.Context, f sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	return call2(ctx, s.p, s.fenced("finish", f), func() (sessions.Mailbox, bool, error) { return s.Store.Finish(ctx, f, e) })
}

func (s *store) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	return call(ctx, s.p, &op{kind: "turn", what: "turn"}, func() (sessions.Turn, error) { return s.Store.Turn(ctx, id) })
}

func (s *store) Delivery(ctx context.Context, id string) (sessions.Delivery, error) {
	return call(ctx, s.p, &op{kind: "delivery", what: "delivery"}, func() (sessions.Delivery, error) { return s.Store.Delivery(ctx, id) })
}

func (s *store) Pending(ctx context.Context, channel string, after uint64, limit int) ([]sessions.Delivery, error) {
	o := &op{kind: "pending", what: fmt.Sprint("pending after ", after)}
	return call(ctx, s.p, o, func() ([]sessions.Delivery, error) { return s.Store.Pending(ctx, channel, after, limit) })
}

func (s *store) Advance(ctx context.Context, id string, p sessions.Progress) error {
	o := &op{kind: "advance", what: "advance " + s.p.w.part(id), answerID: id}
	for _, m := range p.Marks {
		o.what += fmt.Sprintf(" %d:%s→%s", m.Index, m.From, m.To)
	}
	return call0(ctx, s.p, o, func() error { return s.Store.Advance(ctx, id, p) })
}
