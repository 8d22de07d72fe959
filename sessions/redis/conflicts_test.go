package redis_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"parley/costs"
	"parley/sessions"
)

// asksToStop asks for a stop of a mailbox.
func asksToStop(m sessions.Mailbox, id string) sessions.Control {
	return sessions.Control{ID: id, Event: event(id), Token: m.Token, Key: m.Key, Kind: "stop", Through: 1, Channel: "tg", From: place("works"), Sender: "ann", At: noon}
}

// Somebody without a fence wrote a change of the mailbox down, and was killed before
// the database heard of it. What its owner committed meanwhile, and the failover lost,
// is not undone by that.
func TestAFactThatNobodyCommittedTakesNothingFromItsRowsOwner(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	m := p.take(p.alive("ann"), "one", 1)
	turn := p.fixture.open(m, 1)
	p.cutOff()
	killed, kill := context.WithCancel(ctx)
	p.log.fail = func([]byte) error { kill(); return context.Canceled }
	other := p.open(t)
	_, err := other.Request(killed, asksToStop(m, "stop-1"))
	p.is(err, context.Canceled)
	p.log.fail = nil
	_, err = p.s.Request(ctx, asksToStop(m, "stop-2"))
	p.ok(err)
	done, err := p.s.Finish(ctx, m.Fence(), ending(turn, "ann"))
	p.ok(err)
	if done.Released {
		t.Fatal("released, although it is asked to stop")
	}
	p.failOver()

	if got := p.queued(); !slices.Equal(got, []string{answerTo(turn, "ann").ID}) {
		t.Fatalf("answers %v", got)
	}
	ended, err := p.s.Turn(ctx, turn.ID)
	p.ok(err)
	cs, err := p.s.Controls(ctx, m.Token)
	p.ok(err)
	// The first request was told nobody; it holds after all, as it would if it had
	// been lost on its way back.
	if ended.State != sessions.Done || len(cs) != 2 {
		t.Fatalf("%+v, with requests %+v", ended, cs)
	}
	p.ok(p.s.Check(ctx))
}

// As before, but the database has refused the change, and who asked for it is killed
// before it can write that down.
func TestAConflictThatWasNotWrittenDownTakesNothingFromItsRowsOwner(t *testing.T) {
	t.Parallel()
	for _, earlier := range []bool{true, false} {
		t.Run(map[bool]string{true: "written down before it", false: "written down behind it"}[earlier], func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.fixture.open(m, 1)
			charge := sessions.Charge{Session: turn.Session, Turn: turn.ID}
			p.cutOff()
			p.ok(p.s.Reserve(ctx, m.Fence(), charge, reservation(turn, 1, 300)))
			other := p.open(t)
			settle := func() { // the change is computed, and not committed yet
				p.ok(p.s.Settle(ctx, m.Fence(), cost(reservation(turn, 1, 300), 123), said("step-1")))
				p.log.refuse = func(body []byte) error {
					if bytes.Contains(body, []byte(`"void"`)) {
						return errors.New("killed")
					}
					return nil
				}
			}
			if earlier {
				p.log.then = settle
			} else {
				p.log.first = settle
			}
			if err := other.Preview(ctx, turn.ID, sessions.ShownPreview("preview-1")); err == nil {
				t.Fatal("a refusal was told that is not written down")
			}
			p.log.refuse = nil
			p.failOver()

			got, err := p.s.Turn(ctx, turn.ID)
			p.ok(err)
			s, err := p.s.Session(ctx, turn.Session)
			p.ok(err)
			if got.Steps != 1 || s.Own != costs.Amount(123) || s.Held != 0 {
				t.Fatalf("forgotten: step %d, %v spent, %v held", got.Steps, s.Own, s.Held)
			}
			p.ok(p.s.Check(ctx))
		})
	}
}

// The cost of a call is true also when who settles it has lost the mailbox meanwhile,
// and is killed before the database hears of it: nothing of the conversation is
// changed by that, and what a later owner has booked of the call stays.
func TestTheCostOfAFactThatDidNotHoldIsBookedUnlessItWas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resumed   bool
		own, held costs.Amount
		catchUp   bool
	}{
		"after a failover": {own: 123}, "after a failover, booked as doubtful before": {resumed: true, held: 300},
		"without one": {own: 123, catchUp: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, &facts{})
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.fixture.open(m, 1)
			p.ok(p.s.Reserve(ctx, m.Fence(), sessions.Charge{Session: turn.Session, Turn: turn.ID}, reservation(turn, 1, 300)))
			p.cutOff()
			killed, kill := context.WithCancel(ctx)
			p.log.fail = func([]byte) error { kill(); return context.Canceled }
			err := p.s.Settle(killed, m.Fence(), cost(reservation(turn, 1, 300), 123), said("step-1"))
			p.is(err, context.Canceled)
			p.log.fail = nil
			other := fixture{t, p.open(t)}
			other.ok(other.s.Leave(ctx, m.Owner))
			n := other.take(other.alive("bob"), "one", 1)
			_, err = other.s.Begin(ctx, n.Fence(), turn.ID, 1, "rm")
			p.ok(err)
			if c.resumed {
				_, err := other.s.Resume(ctx, n.Fence(), noon)
				p.ok(err)
			}
			if c.catchUp {
				later := p.open(t)
				for range 2 { // the first time it only looks how far the log goes
					p.ok(later.CatchUp(ctx))
				}
			} else {
				p.failOver()
			}

			s, err := p.s.Session(ctx, turn.Session)
			p.ok(err)
			ms, err := p.s.Messages(ctx, turn.Session)
			p.ok(err)
			if s.Own != c.own || s.Held != c.held || len(ms) != 1 {
				t.Errorf("%v spent, %v held, %d messages", s.Own, s.Held, len(ms))
			}
			p.ok(p.s.Check(ctx))
		})
	}
}

// A process computes from what it knows. That somebody else has changed it shows at
// the commit, and nothing is lost of either.
func TestWhatAnotherProcessChangedIsFoundByTheCommit(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]*facts{"with facts": {}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, log)
			ctx := t.Context()
			m := p.take(p.alive("ann"), "one", 1)
			turn := p.fixture.open(m, 1)
			other := p.open(t)
			for _, id := range []string{"stop-1", "stop-2"} {
				_, err := other.Request(ctx, asksToStop(m, id))
				p.ok(err)
				_, err = p.s.Request(ctx, asksToStop(m, id+"-too"))
				p.ok(err)
			}
			done, err := p.s.Finish(ctx, m.Fence(), ending(turn, "ann"))
			p.ok(err)
			found, err := other.Mailbox(ctx, m.Token)
			p.ok(err)
			if done.Released || found.Controls != 4 || found.Turn != nil {
				t.Fatalf("released %v, %+v", done.Released, found)
			}
			p.ok(p.s.Check(ctx))
		})
	}
}

// The facts of the version before named scripts that are no more.
func TestFactsOfTheVersionBeforeAreRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	p := newPair(t, &facts{})
	ctx := t.Context()
	p.take(p.alive("ann"), "one", 1)
	_, err := p.log.Append(ctx, "old", []byte(`{"script":"append","request":{}}`))
	p.ok(err)
	p.cutOff()
	p.failOver()
	_, err = p.s.Mailbox(ctx, p.key("one").Token())
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("earlier version of parley")) {
		t.Fatalf("got error %v", err)
	}
}
