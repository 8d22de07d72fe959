package delivery_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessions"
)

// hand ends turn t1 of chat a, whose answer take takes, and returns whether the end began its delivery.
// commit is the store's, which may fail.
func (r *fixture) hand(take delivery.Handoff, text string, commit func(sessions.FinishTurn) (sessions.Finished, error)) bool {
	r.t.Helper()
	e := ending("a", "t1", text)
	begin, settle := take(r.t.Context(), e.Replies[0], time.Now())
	if e.Sending = begin; begin == nil {
		settle = func(bool, error) {}
	}
	done, err := commit(e)
	settle(done.Sending, err)
	return done.Sending
}

// commit ends a turn as a worker does.
func (r *fixture) commit(e sessions.FinishTurn) (sessions.Finished, error) {
	return r.store.Finish(r.t.Context(), r.fence[e.Turn], e) // it is compared
}

// taken is turn t1 of chat a, which is open, and what takes its answer.
func (p *process) taken() delivery.Handoff {
	p.r.t.Helper()
	p.r.await("the account to send", func() bool { return p.out.Handoff("tg") != nil })
	take := p.out.Handoff("tg")
	p.r.begin("a", "t1")
	return take
}

func TestAnAnswerIsSentWithTheEndOfItsTurn(t *testing.T) {
	t.Parallel()
	r := realStore(t)
	p := r.start()
	take := p.taken()
	p.store.mu.Lock()
	before := p.store.took
	p.store.mu.Unlock()
	if !r.hand(take, "one\ntwo", r.commit) {
		t.Error("not begun with the turn's end")
	}
	r.delivered()
	p.end() // a write is counted behind what the store shows of it
	r.wantCalls("send a one", "send a two")
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if n := p.store.took - before; n != 2 {
		t.Errorf("delivery wrote %d times beside the end of the turn, want a receipt for each part", n)
	}
}

// It goes into the message that shows the turn, as one that was found in the outbox does.
func TestAnAnswerThatIsHandedOverGoesIntoItsPreview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.start()
		take := p.taken()
		p.show("a", "t1", "half")
		synctest.Wait() // until the lane is idle
		if !r.hand(take, "whole", r.commit) {
			t.Error("not handed over")
		}
		r.delivered()
		r.wantCalls("send a half", "edit a whole in id1")
		p.end()
	})
}

// Whatever becomes of the commit that ends a turn, its answer is sent once, without a mark.
func TestAHandoffThatFailsLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	errAway := errors.New("away")
	for name, commit := range map[string]func(r *fixture, e sessions.FinishTurn) (sessions.Finished, error){
		"the answer of the store is lost": func(r *fixture, e sessions.FinishTurn) (sessions.Finished, error) {
			if _, err := r.commit(e); err != nil {
				r.t.Error(err)
			}
			return sessions.Finished{}, errAway
		},
		"nothing was stored": func(*fixture, sessions.FinishTurn) (sessions.Finished, error) { return sessions.Finished{}, errAway },
		"another answer waits": func(r *fixture, e sessions.FinishTurn) (sessions.Finished, error) {
			e.Sending = nil // as the store leaves it out
			return r.commit(e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := r.start()
			take := p.taken()
			r.hand(take, "one", func(e sessions.FinishTurn) (sessions.Finished, error) { return commit(r, e) })
			if turn, err := r.store.Turn(t.Context(), "t1"); err != nil || turn.State != sessions.Done {
				r.finish("a", "t1", "one") // the worker does it again
			}
			p.wake()
			r.delivered()
			r.wantCalls("send a one")
		})
	}
}

// What was sent as it was handed over may have arrived, also when that could not be noted.
func TestADoubtOfAnAnswerThatWasHandedOverIsMarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.script = first(arrives{kind(channels.Ambiguous)})
		r.fail = 1 // it sends, and cannot note the doubt
		p := r.start()
		if !r.hand(p.taken(), "one", r.commit) {
			t.Error("not begun with the turn's end")
		}
		r.delivered()
		r.wantCalls("send a one", "send a one again")
		p.end()
	})
}

// What this process may not have noted that it sent is in doubt, also when it was handed over once
// in vain.
func TestADoubtAfterAHandoffThatFailedIsMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(n int, _ call) error {
		if n == 1 {
			return arrives{kind(channels.Ambiguous)}
		}
		return nil
	}
	r.fail = 2 // it marks, sends, and cannot note the doubt
	p := r.start()
	take := p.taken()
	r.hand(take, "one", func(sessions.FinishTurn) (sessions.Finished, error) {
		return sessions.Finished{}, errors.New("away")
	})
	r.finish("a", "t1", "one")
	p.wake()
	r.delivered()
	r.wantCalls("send a one", "send a one again")
}

// A process that is killed behind the commit may have sent the answer.
func TestAnAnswerOfAKilledProcessIsRepeatedWithAMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.die = 1
	p := r.start(func(o *delivery.Options) { o.Grace = time.Millisecond })
	if !r.hand(p.taken(), "one", r.commit) {
		t.Error("not begun with the turn's end")
	}
	r.await("the message", func() bool { return len(r.net.log()) == 1 })
	p.end()
	r.die = 0
	r.start()
	r.delivered()
	r.wantCalls("send a one", "send a one again")
}

func TestAnAnswerIsNotHandedOver(t *testing.T) {
	t.Parallel()
	answers := func(r *fixture, take delivery.Handoff) bool {
		begin, settle := take(r.t.Context(), ending("a", "t1", "one").Replies[0], time.Now())
		if begin != nil {
			settle(false, nil)
		}
		return begin != nil
	}
	for name, c := range map[string]struct {
		options func(r *fixture) []func(*delivery.Options)
		before  func(r *fixture, p *process) // of the end of the turn
	}{
		"to a chat that is closed": {nil, func(r *fixture, _ *process) {
			if _, _, err := r.store.CloseChat(r.t.Context(), sessions.CloseRequest{ID: "tg x", Chat: sessions.ChatID{Channel: "telegram", Account: "42", Peer: "a"}, At: time.Now()}); err != nil {
				r.t.Error(err)
			}
		}},
		"when the network takes nothing now": {func(r *fixture) []func(*delivery.Options) {
			return []func(*delivery.Options){r.pacing(func() time.Duration { return time.Second })}
		}, nil},
		"by a process that stopped to send": {nil, func(_ *fixture, p *process) { p.end() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var options []func(*delivery.Options)
			if c.options != nil {
				options = c.options(r)
			}
			p := r.start(options...)
			take := p.taken()
			if c.before != nil {
				c.before(r, p)
			}
			if answers(r, take) {
				t.Error("handed over")
			}
		})
	}
	t.Run("by a process that stopped to send, and began again", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		first, stop := context.WithCancel(t.Context())
		again := make(chan struct{})
		p := r.run(func(d *delivery.Delivery, ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { _ = d.Listen(ctx); return nil })
			g.Go(func() error {
				if err := d.Send(first, "tg"); err != nil {
					return err
				}
				close(again)
				return d.Send(ctx, "tg")
			})
			return g.Wait() // it is shown
		})
		take := p.taken()
		stop()
		<-again
		r.queue("b", "so it sends")
		r.delivered()
		if answers(r, take) {
			t.Error("handed over: another process may have shown something of the turn in between")
		}
	})
	t.Run("to a lane that is busy", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		p := r.start()
		take := p.taken()
		begin, settle := take(t.Context(), ending("a", "t1", "one").Replies[0], time.Now())
		if begin == nil {
			t.Fatal("not handed over")
		}
		if answers(r, take) {
			t.Error("handed over twice")
		}
		settle(false, nil)
	})
	t.Run("when another that is not sent yet has the room that there is", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		room := &roomForOne{net: r.net, freed: make(chan struct{}, 8)}
		p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{room} })
		take := p.taken()
		begin, settle := take(t.Context(), ending("b", "t2", "two").Replies[0], time.Now())
		if begin == nil {
			t.Fatal("not handed over")
		}
		if answers(r, take) {
			t.Error("handed over: it would stand as being sent while it waits for room")
		}
		settle(false, nil)
		<-room.freed
		if begin, settle = take(t.Context(), ending("c", "t3", "three").Replies[0], time.Now()); begin == nil {
			t.Fatal("not handed over, and there is room again")
		}
		settle(false, nil)
	})
	t.Run("of a turn that ran for very long", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			p := r.start()
			take := p.taken()
			time.Sleep(31 * time.Minute)
			if answers(r, take) {
				t.Error("handed over")
			}
			p.end()
		})
	})
}

// What comes for the chat meanwhile waits for its turn.
func TestWhatComesWhileAnAnswerIsHandedOverWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	take := p.taken()
	r.hand(take, "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
		done, err := r.commit(e)
		r.queue("a", "two")
		p.wake()
		return done, err
	})
	r.delivered()
	r.wantCalls("send a one", "send a two")
}

// A worker that hands an answer over may be one that lost its session: the next has queued that
// answer, and those of later messages, which a scan has found meanwhile. They come in order.
func TestAnAnswerThatIsHandedOverTooLateComesFirst(t *testing.T) {
	t.Parallel()
	overtake := func(r *fixture, p *process) {
		r.finish("a", "t1", "one")
		r.queue("b", "a scan has found one")
		p.wake()
		r.await("the first scan", func() bool { return slices.Contains(r.net.chat(), "a scan has found one") })
		r.queue("a", "two")
		r.queue("b", "a scan has found two")
		p.wake()
		r.await("the second scan", func() bool { return slices.Contains(r.net.chat(), "a scan has found two") })
	}
	check := func(r *fixture) {
		r.delivered()
		got := slices.DeleteFunc(r.net.log(), func(s string) bool { return strings.HasPrefix(s, "send b") })
		if !slices.Equal(got, []string{"send a one", "send a two"}) {
			r.t.Errorf("chat a got %q", got)
		}
	}
	t.Run("while its turn ends", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		p := r.start()
		r.hand(p.taken(), "one", func(sessions.FinishTurn) (sessions.Finished, error) {
			overtake(r, p)
			return sessions.Finished{}, sessions.ErrFenced
		})
		check(r)
	})
	t.Run("while it is composed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		var meanwhile atomic.Pointer[func()]
		p := r.start(func(o *delivery.Options) { o.Store = busyChats{o.Store, &meanwhile} })
		take := p.taken()
		late := func() { overtake(r, p) }
		meanwhile.Store(&late)
		if begin, _ := take(t.Context(), ending("a", "t1", "one").Replies[0], time.Now()); begin != nil {
			t.Error("handed over, and where its chat is could not be read")
		}
		check(r)
	})
}

// busyChats is a store that fails to say where a chat is, once, when meanwhile has happened.
type busyChats struct {
	delivery.Store
	meanwhile *atomic.Pointer[func()]
}

func (s busyChats) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	if happen := s.meanwhile.Swap(nil); happen != nil {
		(*happen)()
		return sessions.Chat{}, errStore
	}
	return s.Store.Chat(ctx, id)
}
