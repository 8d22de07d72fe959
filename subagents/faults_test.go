package subagents_test

import (
	"context"
	"sync"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// mortal is a store whose process dies at some operation: that one is made or
// not, and nothing after it.
type mortal struct {
	sessions.Store
	check func() // after each operation

	mu      sync.Mutex // one operation at a time, with its check
	left    int        // operations until the end; 0: none
	applied bool
	dead    bool
}

func op[T any](m *mortal, do func() (T, error)) (v T, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none T
	if m.dead {
		return none, errKilled
	}
	if m.left > 0 {
		if m.left--; m.left == 0 {
			m.dead = true
			if m.applied {
				if _, err := do(); err != nil {
					return none, err
				}
			}
			return none, errKilled
		}
	}
	v, err = do()
	if m.check != nil {
		m.check()
	}
	return v, err
}

func act(m *mortal, do func() error) error {
	_, err := op(m, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

type opened struct {
	t  sessions.Turn
	ok bool
}

func (m *mortal) Open(ctx context.Context, f sessions.Fence, o sessions.Opening) (sessions.Turn, bool, error) {
	v, err := op(m, func() (v opened, err error) {
		v.t, v.ok, err = m.Store.Open(ctx, f, o)
		return v, err
	})
	return v.t, v.ok, err
}

func (m *mortal) Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error) {
	return op(m, func() ([]transcript.Message, error) { return m.Store.Messages(ctx, id) })
}

func (m *mortal) Post(ctx context.Context, f sessions.Fence, turn string, rs ...sessions.Outgoing) error {
	return act(m, func() error { return m.Store.Post(ctx, f, turn, rs...) })
}

func (m *mortal) Append(ctx context.Context, f sessions.Fence, turn string, ms ...transcript.Message) error {
	return act(m, func() error { return m.Store.Append(ctx, f, turn, ms...) })
}

func (m *mortal) Begin(ctx context.Context, f sessions.Fence, turn string, step int, callID string) (bool, error) {
	return op(m, func() (bool, error) { return m.Store.Begin(ctx, f, turn, step, callID) })
}

func (m *mortal) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	return act(m, func() error { return m.Store.Reserve(ctx, f, c, r) })
}

func (m *mortal) Settle(ctx context.Context, f sessions.Fence, s costs.Settlement, ms ...transcript.Message) error {
	return act(m, func() error { return m.Store.Settle(ctx, f, s, ms...) })
}

type finished struct {
	m  sessions.Mailbox
	ok bool
}

func (m *mortal) Finish(ctx context.Context, f sessions.Fence, e sessions.Ending) (sessions.Mailbox, bool, error) {
	v, err := op(m, func() (v finished, err error) {
		v.m, v.ok, err = m.Store.Finish(ctx, f, e)
		return v, err
	})
	return v.m, v.ok, err
}

type spawned struct {
	s    sessions.Session
	made bool
}

func (m *mortal) Spawn(ctx context.Context, f sessions.Fence, s sessions.Session) (sessions.Session, bool, error) {
	v, err := op(m, func() (v spawned, err error) {
		v.s, v.made, err = m.Store.Spawn(ctx, f, s)
		return v, err
	})
	return v.s, v.made, err
}

func (m *mortal) Session(ctx context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	return op(m, func() (sessions.Session, error) { return m.Store.Session(ctx, id) })
}

func (m *mortal) Turn(ctx context.Context, id string) (sessions.Turn, error) {
	return op(m, func() (sessions.Turn, error) { return m.Store.Turn(ctx, id) })
}

func (m *mortal) Tree(ctx context.Context, id sessionkeys.SessionID) ([]sessions.Session, error) {
	return op(m, func() ([]sessions.Session, error) { return m.Store.Tree(ctx, id) })
}

func (m *mortal) Spent(ctx context.Context, s sessions.Scope, at time.Time) (settled, held costs.Amount, err error) {
	v, err := op(m, func() (v [2]costs.Amount, err error) {
		v[0], v[1], err = m.Store.Spent(ctx, s, at)
		return v, err
	})
	return v[0], v[1], err
}
