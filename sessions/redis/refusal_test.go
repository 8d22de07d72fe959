package redis_test

import (
	"testing"

	"parley/sessions"
	"parley/sessions/redis/redistest"
)

func TestARefusalThatWasToldHoldsAfterAFailover(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	ann := p.alive("ann")
	m := p.take(ann, "one", 1)
	turn := p.fixture.open(m, 1)
	charge := sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: []sessions.Scope{{Kind: "person", ID: "ann", Limit: 100}}}
	p.cutOff()
	if err := p.s.Reserve(ctx, m.Fence(), charge, reservation(turn, 1, 101)); err == nil {
		t.Fatal("more than the limit was reserved")
	}
	// Nothing that the new owner does is a fact.
	_, err := p.s.Reacquire(ctx, m.Fence(), noon)
	p.ok(err)
	_, err = p.s.Finish(ctx, m.Fence(), ending(turn, "late"))
	p.is(err, sessions.ErrFenced)
	p.failOver()
	if got := p.queued(); got != nil {
		t.Fatalf("answers %v", got)
	}
	s, err := p.s.Session(ctx, turn.Session)
	p.ok(err)
	if s.Held != 0 {
		t.Fatalf("held %v", s.Held)
	}
}

// Redis refuses a write and dies, and another process takes the database over before the refusal
// is in the log. That one has applied the fact, so the writer is not told that it was refused, and
// no later failover takes it back.
func TestARefusalThatAFailoverDidNotSeeIsNotTold(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	charge := sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: []sessions.Scope{{Kind: "person", ID: "ann", Limit: 100}}}
	p.cutOff()
	var third *redistest.Server
	p.log.then = func() {
		p.log.mu.Lock()
		defer p.log.mu.Unlock()
		p.log.first = func() {
			p.failOver()
			third = p.replica.Replica(t)
			third.CutOff()
			p.open(t)
		}
	}
	p.is(p.s.Reserve(ctx, m.Fence(), charge, reservation(turn, 1, 101)), sessions.ErrFenced)
	s, err := p.s.Session(ctx, turn.Session)
	p.ok(err)
	if s.Held != 101 {
		t.Fatalf("held %v", s.Held)
	}
	p.primary, p.replica = p.replica, third
	p.failOver()
	s, err = p.s.Session(ctx, turn.Session)
	p.ok(err)
	if s.Held != 101 {
		t.Fatalf("held %v after another failover", s.Held)
	}
	p.ok(p.s.Check(ctx))
}
