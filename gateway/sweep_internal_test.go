package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/sessions"
	"parley/sessions/memtest"
)

// readMailboxes is a store that says of mailboxes how far they are read.
type readMailboxes struct {
	sessions.Store
	by map[string]sessions.Mailbox
}

func (r readMailboxes) Mailbox(_ context.Context, token string) (sessions.Mailbox, error) {
	m, ok := r.by[token]
	if !ok {
		return m, errors.New("the store broke down")
	}
	return m, nil
}

// What was read stays a week in the log. What nobody has read stays, however old it is, as does
// what a turn that is open may need, and what the store cannot tell of.
func TestTheSweepDeletesOnlyWhatWasReadLongAgo(t *testing.T) {
	t.Parallel()
	store := readMailboxes{memtest.New(memtest.Every), map[string]sessions.Mailbox{}}
	s := stand(t, t.TempDir(), store)
	read, half, busy, untold := personKey(t, 1), personKey(t, 2), personKey(t, 3), personKey(t, 4)
	for _, k := range []string{read.Token(), half.Token(), busy.Token()} {
		store.by[k] = sessions.Mailbox{Token: k}
	}
	first, last := s.publish(read, read), s.publish(read, read)
	store.by[read.Token()] = sessions.Mailbox{LastRead: last}
	halfRead, unread := s.publish(half, half), s.publish(half, half)
	store.by[half.Token()] = sessions.Mailbox{LastRead: halfRead}
	open := s.publish(busy, busy)
	store.by[busy.Token()] = sessions.Mailbox{LastRead: open, Turn: &sessions.Turn{}}
	kept := s.publish(untold, untold)

	s.sweep(t.Context())
	s.says("message log swept", false) // nothing is a week old
	if e, err := s.log.Next(t.Context(), read.Token(), 0); err != nil || e.Seq != first {
		t.Errorf("what was read just now: %d, %v", e.Seq, err)
	}
	s.now = func() time.Time { return time.Now().Add(keepRead + time.Hour) }
	s.sweep(t.Context())
	s.says(`msg="message log swept" deleted=3`, true)
	for token, want := range map[string]uint64{half.Token(): unread, busy.Token(): open, untold.Token(): kept} {
		if e, err := s.log.Next(t.Context(), token, 0); err != nil || e.Seq != want {
			t.Errorf("the next message is %d, want %d: %v", e.Seq, want, err)
		}
	}
}
