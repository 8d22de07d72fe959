package redis_test

import (
	"fmt"
	"testing"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// TestTheLogThatMailboxesCountIsNotForgotten: what waits in an older log waits no more
// after a failover either.
func TestTheLogThatMailboxesCountIsNotForgotten(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ann := p.alive("ann")
	p.take(ann, "one", 3)
	p.try(ann, "two", 4)
	p.cutOff()
	lost, err := p.s.StartGeneration(t.Context(), "g1")
	if p.ok(err); lost != 2 {
		t.Errorf("%d mailboxes lost messages, not 2", lost)
	}
	p.failOver()
	p.begun(t, p.s, "g1", 2)
}

// TestTheFactOfAGenerationOfTheVersionBeforeIsApplied: it is the call of a script.
func TestTheFactOfAGenerationOfTheVersionBeforeIsApplied(t *testing.T) {
	t.Parallel()
	log := &facts{}
	server := redistest.Start(t, redistest.Options{})
	h := fixture{t, openAt(t, redis.Options{URL: server.URL, Facts: log})}
	h.take(h.alive("ann"), "one", 3)
	_, err := log.Append(t.Context(), "earlier", []byte(`{"script":"start_generation","request":{"name":"g1"}}`))
	h.ok(err)
	server.Restart()
	h.begun(t, openAt(t, redis.Options{URL: server.URL, Facts: log}), "g1", 1)
}

// begun looks whether a generation has begun, and mailbox one has none of it.
func (h fixture) begun(t *testing.T, s sessions.Store, name string, lost int) {
	t.Helper()
	got, highest, err := s.Generation(t.Context())
	if h.ok(err); got != name || highest != 0 {
		t.Errorf("the generation is %q up to %d", got, highest)
	}
	m, err := s.Mailbox(t.Context(), h.key("one").Token())
	if h.ok(err); m.LastSeen != 0 || m.HasWork() {
		t.Errorf("%+v", m)
	}
	qs, total, err := s.Queues(t.Context(), 10)
	if h.ok(err); total != 0 {
		t.Errorf("%d mailboxes wait: %+v", total, qs)
	}
	again, err := s.StartGeneration(t.Context(), name)
	if h.ok(err); again != lost {
		t.Errorf("%d mailboxes lost messages, not %d", again, lost)
	}
	h.ok(s.Check(t.Context()))
}

// TestAFailoverEndsAllFences, also of a worker that owns more mailboxes than are
// handed over in one step.
func TestAFailoverEndsAllFences(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ann, bob := p.alive("ann"), p.alive("bob")
	const most = 201
	for i := range most {
		p.take(ann, fmt.Sprint("ann-", i), 1)
	}
	bobs := p.take(bob, "bob", 1)
	p.cutOff()
	p.failOver()
	for _, w := range []sessions.Worker{ann, bob} {
		ms, err := p.s.Held(t.Context(), w)
		if p.ok(err); len(ms) != 0 {
			t.Errorf("%s holds %d mailboxes", w.Name, len(ms))
		}
	}
	p.is(p.s.Skip(t.Context(), bobs.Fence(), 1), sessions.ErrFenced)
	m, err := p.s.Mailbox(t.Context(), bobs.Token)
	if p.ok(err); m.Attempts != 0 || m.LastSeen != 1 {
		t.Errorf("%+v", m)
	}
	p.ok(p.s.Check(t.Context()))
}
