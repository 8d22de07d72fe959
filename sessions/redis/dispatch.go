package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessionkeys"
	"parley/sessions"
)

// mostExact is the highest sequence that a script can hold.
const mostExact = 1 << 53

func checkSeq(seqs ...uint64) error {
	for _, s := range seqs {
		if s > mostExact {
			return fmt.Errorf("sequence %d is out of range", s)
		}
	}
	return nil
}

// newMailbox is what a mailbox is made of when there is none.
type newMailbox struct {
	Session sessionkeys.SessionID `json:"session"` // empty: a child's, which is there already
	Origin  string                `json:"origin"`  // the key's address as JSON
}

func mailboxFor(key sessionkeys.Key, now time.Time) (newMailbox, error) {
	origin, err := text(key.Address())
	m := newMailbox{Origin: origin}
	if _, child := key.Parent(); !child {
		m.Session = sessionkeys.NewSessionID(now)
	}
	return m, err
}

// Touch implements [sessions.Dispatch].
func (s *Store) Touch(ctx context.Context, t sessions.Touch) (m sessions.Mailbox, got bool, err error) {
	m, got, err = s.touch(ctx, t)
	if err != nil {
		return sessions.Mailbox{}, false, fmt.Errorf("touch mailbox %s: %w", t.Token, err)
	}
	return m, got, nil
}

func (s *Store) touch(ctx context.Context, t sessions.Touch) (sessions.Mailbox, bool, error) {
	if t.Take && (t.By.Name == "" || t.By.Nonce == "") {
		return sessions.Mailbox{}, false, errors.New("nobody can take it: the worker has no name or no nonce")
	}
	if t.Token == "" {
		return sessions.Mailbox{}, false, errors.New("a new mailbox needs a token and a key")
	}
	if err := checkSeq(t.Seq); err != nil {
		return sessions.Mailbox{}, false, err
	}
	made, err := mailboxFor(t.Key, t.Now)
	if err != nil {
		return sessions.Mailbox{}, false, err
	}
	a, err := s.change(ctx, "touch", struct {
		newMailbox
		worker
		Token string          `json:"token"`
		Key   sessionkeys.Key `json:"key"`
		Seq   uint64          `json:"seq"`
		Take  bool            `json:"take"`
		Now   int64           `json:"now"`
	}{made, worker(t.By), t.Token, t.Key, t.Seq, t.Take, micros(t.Now)})
	if err != nil {
		return sessions.Mailbox{}, false, err
	}
	m, err := s.mailbox(a.list(1))
	return m, a.yes(0), err
}

// fenced is the request of a script that needs a fence alone, or a time beside it.
type fenced struct {
	Fence fence `json:"fence"`
	Now   int64 `json:"now"`
}

// Reacquire implements [sessions.Dispatch].
func (s *Store) Reacquire(ctx context.Context, f sessions.Fence, now time.Time) (m sessions.Mailbox, err error) {
	a, err := s.change(ctx, "reacquire", fenced{of(f), micros(now)})
	if err == nil {
		m, err = s.mailbox(a)
	}
	if err != nil {
		return sessions.Mailbox{}, fmt.Errorf("reacquire mailbox %s: %w", f.Token, err)
	}
	return m, nil
}

// Release implements [sessions.Dispatch].
func (s *Store) Release(ctx context.Context, f sessions.Fence) (m sessions.Mailbox, released bool, err error) {
	a, err := s.change(ctx, "release", fenced{Fence: of(f)})
	if err == nil {
		m, err = s.mailbox(a.list(1))
	}
	if err != nil {
		return sessions.Mailbox{}, false, fmt.Errorf("release mailbox %s: %w", f.Token, err)
	}
	return m, a.yes(0), nil
}

// Handover implements [sessions.Dispatch].
func (s *Store) Handover(ctx context.Context, f sessions.Fence) error {
	if _, err := s.change(ctx, "handover", fenced{Fence: of(f)}); err != nil {
		return fmt.Errorf("hand over mailbox %s: %w", f.Token, err)
	}
	return nil
}

// Yield implements [sessions.Dispatch].
func (s *Store) Yield(ctx context.Context, f sessions.Fence, now time.Time) (bool, error) {
	a, err := s.change(ctx, "yield", fenced{of(f), micros(now)})
	if err != nil {
		return false, fmt.Errorf("yield mailbox %s: %w", f.Token, err)
	}
	return a.yes(0), nil
}

// Mailbox implements [sessions.Dispatch].
func (s *Store) Mailbox(ctx context.Context, token string) (m sessions.Mailbox, err error) {
	a, err := s.look(ctx, "mailbox", struct {
		Token string `json:"token"`
	}{token})
	if err == nil {
		m, err = s.mailbox(a)
	}
	if err != nil {
		return sessions.Mailbox{}, fmt.Errorf("mailbox %s: %w", token, err)
	}
	return m, nil
}

const page = 200 // rows read at a time for a caller's function

// Mailboxes implements [sessions.Dispatch]: in the order of their tokens. yield
// may use the store.
func (s *Store) Mailboxes(ctx context.Context, yield func(sessions.Mailbox) bool) error {
	after := ""
	for {
		a, err := s.look(ctx, "mailboxes", struct {
			After string `json:"after"`
			Limit int    `json:"limit"`
		}{after, page})
		var ms []sessions.Mailbox
		if err == nil {
			ms, err = s.mailboxes(a)
		}
		if err != nil {
			return fmt.Errorf("list mailboxes: %w", err)
		}
		for _, m := range ms {
			if !yield(m) {
				return nil
			}
			after = m.Token
		}
		if len(ms) < page {
			return nil
		}
	}
}

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(ctx context.Context) (name string, highest uint64, err error) {
	a, err := s.look(ctx, "generation", struct{}{})
	var n int64
	if err == nil {
		n, err = a.int(1)
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the generation: %w", err)
	}
	return a.text(0), uint64(n), nil
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(ctx context.Context, name string) (int, error) {
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	a, err := s.record(ctx, "start_generation", nil, struct {
		Name string `json:"name"`
	}{name})
	var lost int64
	if err == nil {
		lost, err = a.int(0)
	}
	if err != nil {
		return 0, fmt.Errorf("start generation %s: %w", name, err)
	}
	return int(lost), nil
}
