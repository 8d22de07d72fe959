package redis_test

import (
	"context"
	"errors"
	"testing"

	"parley/sessions/redis"
)

func TestWhoTendsIsToldOfAFailoverUntilItSucceeds(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	m := p.take(p.alive("ann"), "one", 1)
	p.cutOff()
	p.take(m.Owner, "two", 7) // nothing of it is a fact
	ctx, cancel := context.WithCancel(t.Context())
	calls, ended := make(chan int), make(chan error, 1)
	n := 0
	go func() {
		ended <- p.store.Maintain(ctx, func(context.Context) error {
			n++
			calls <- n
			if n == 1 {
				return errors.New("not yet")
			}
			p.try(m.Owner, "two", 7)
			return nil
		})
	}()
	p.failOver()
	other := p.open(t) // finds out first
	if _, err := other.Clock(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.ok(p.s.Probe(t.Context()))
	for want := 1; want <= 2; want++ {
		if got := <-calls; got != want {
			t.Fatalf("call %d, want %d", got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	found, err := p.s.Mailbox(t.Context(), p.key("two").Token())
	if err != nil || found.LastSeen != 7 {
		t.Fatalf("%+v %v", found, err)
	}
}

func TestAnOpeningThatFindsARestartIsTold(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	p.take(p.alive("ann"), "one", 1)
	p.primary.Restart()
	s := openAt(t, redis.Options{URL: p.board.URL, Facts: p.log})
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Maintain(ctx, func(context.Context) error { cancel(); return nil }); err != nil {
		t.Fatal(err)
	}
}
