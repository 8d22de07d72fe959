package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessions"
)

// lostChats is a store that fails once to say where a chat is.
type lostChats struct {
	delivery.Store
	fail *atomic.Bool
}

func (s lostChats) Chat(ctx context.Context, id sessions.ChatID) (sessions.Chat, error) {
	if s.fail.CompareAndSwap(true, false) {
		return sessions.Chat{}, errStore
	}
	return s.Store.Chat(ctx, id)
}

// A store that fails between the end of a turn and the sending leaves no doubt: nothing was sent.
func TestAnAnswerThatCouldNotBeSentAtOnceIsNoRepeat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var fail atomic.Bool
	p := r.start(func(o *delivery.Options) { o.Store = lostChats{o.Store, &fail} })
	sending := r.hand(p.taken(), "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
		done, err := r.commit(e)
		fail.Store(true)
		return done, err
	})
	if !sending {
		t.Error("not begun with the turn's end")
	}
	r.delivered()
	r.wantCalls("send a one")
}

// An account that stopped to send while the turn ended sends nothing, and leaves no doubt to who
// sends next.
func TestAnAnswerThatCameTooLateForItsAccountIsNoRepeat(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"its grace period is over": nil, "its lease was lost": broker.ErrLeaseLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				sends, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				p := r.runUntil(sends, func(o *delivery.Options) { o.Grace = time.Second })
				synctest.Wait() // until it sends
				r.hand(p.taken(), "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
					stop(cause)
					time.Sleep(2 * time.Second)
					return r.commit(e)
				})
				p.end()
				r.wantCalls()
				next := r.start()
				r.delivered()
				r.wantCalls("send a one")
				next.end()
			})
		})
	}
}

// What another process sends meanwhile is not put back: its receipt is kept.
func TestAnAnswerThatAnotherProcessSendsIsNotPutBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		sends, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		p := r.runUntil(sends)
		synctest.Wait() // until it sends
		var other sessions.Mark
		r.hand(p.taken(), "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
			stop(broker.ErrLeaseLost)
			synctest.Wait()
			e.Sending.Marks[0].By = "another process"
			other = e.Sending.Marks[0]
			if done, err := r.commit(e); err != nil || !done.Sending {
				t.Error(done, err)
			}
			return sessions.Finished{}, sessions.ErrFenced
		})
		p.end()
		d, err := r.store.Delivery(t.Context(), "t1")
		if err != nil || d.Parts[0].State != sessions.Sending || d.Parts[0].By != other.By {
			t.Errorf("it stands as %+v, %v", d.Parts, err)
		}
		other.From, other.To, other.MessageID = sessions.Sending, sessions.Sent, "id1"
		if err := r.store.Advance(t.Context(), "t1", sessions.Progress{Marks: []sessions.Mark{other}}); err != nil {
			t.Errorf("receipt refused: %v", err)
		}
		r.wantCalls()
	})
}

// What was sent, and is not known to have arrived, stays in doubt when a worker that lost its session
// long ago hands it over then, in vain.
func TestADoubtBeforeAHandoffThatFailedIsMarked(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"by a process that goes on": nil, "by a process that loses its lease": broker.ErrLeaseLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.net.script = first(arrives{kind(channels.Ambiguous)})
				r.fail = 2 // it marks, sends, and cannot note the doubt
				sends, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				p := r.runUntil(sends)
				synctest.Wait() // until it sends
				take := p.taken()
				r.finish("a", "t1", "one")
				p.wake()
				synctest.Wait()
				r.wantCalls("send a one")
				time.Sleep(time.Millisecond) // before the next scan finds it
				r.hand(take, "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
					if e.Sending == nil {
						t.Error("not handed over")
					}
					if cause != nil {
						stop(cause)
						synctest.Wait()
					}
					return sessions.Finished{}, sessions.ErrFenced
				})
				if cause != nil {
					p.end()
					r.fail = 0
					p = r.start()
				}
				r.delivered()
				r.wantCalls("send a one", "send a one again")
				stop(nil)
				p.end()
			})
		})
	}
}

// panicky is a network that panics once when it is to render a text.
type panicky struct {
	*net
	panics *atomic.Bool
}

func (n panicky) Render(text string) []channels.Body {
	if n.panics.CompareAndSwap(true, false) {
		panic("cannot be rendered")
	}
	return n.net.Render(text)
}

// A worker survives a panic, and so does the lane.
func TestAHandoffThatPanicsLeavesItsLane(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var panics atomic.Bool
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{panicky{r.net, &panics}} })
	take := p.taken()
	panics.Store(true)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		take(t.Context(), ending("a", "t1", "one").Replies[0], time.Now())
	}()
	r.finish("a", "t1", "one")
	p.wake()
	r.await("the answer", func() bool { return r.counted("delivered one") == 1 })
	r.wantCalls("send a one")
}

// A commit that its worker gave up may be made all the same, later.
func TestAnAnswerWhoseCommitCameLaterIsNoRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.start()
		var late sessions.FinishTurn
		r.hand(p.taken(), "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
			late = e
			return sessions.Finished{}, context.Canceled
		})
		synctest.Wait()
		if done, err := r.commit(late); err != nil || !done.Sending {
			t.Fatal(done, err)
		}
		r.delivered()
		r.wantCalls("send a one")
		p.end()
	})
}

// What was handed over in vain, and was sent by another process since, may have arrived.
func TestADoubtOfAnotherProcessIsMarkedAfterAHandoffInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.start()
		var other sessions.FinishTurn
		r.hand(p.taken(), "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
			other = e
			return sessions.Finished{}, errStore
		})
		other.Sending.Marks[0].By = "another process, which was killed"
		if done, err := r.commit(other); err != nil || !done.Sending {
			t.Fatal(done, err)
		}
		r.delivered()
		r.wantCalls("send a one again")
		p.end()
	})
}

// An answer that goes back to the outbox, where a scan has passed it over, still comes before the next one.
func TestAnAnswerThatWasHandedOverInVainComesFirst(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]func(*atomic.Bool) error{
		"the answer of the store is lost": func(*atomic.Bool) error { return errStore },
		"the store fails before it is sent": func(chats *atomic.Bool) error {
			chats.Store(true)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var fail atomic.Bool
				p := r.start(func(o *delivery.Options) { o.Store = lostChats{o.Store, &fail} })
				r.hand(p.taken(), "one", func(e sessions.FinishTurn) (sessions.Finished, error) {
					if _, err := r.commit(e); err != nil {
						t.Error(err)
					}
					p.wake()
					synctest.Wait() // until it was seen, and passed over
					err := failed(&fail)
					return sessions.Finished{Sending: err == nil}, err
				})
				for fail.Load() {
					synctest.Wait()
				}
				r.queue("a", "two")
				p.wake()
				r.delivered()
				r.wantCalls("send a one", "send a two")
				p.end()
			})
		})
	}
}

// In its grace period an account ends what it has, and takes nothing new.
func TestNothingIsHandedOverInTheGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.slow = 10 * time.Second
		p := r.start()
		take := p.taken()
		r.queue("b", "slow")
		p.wake()
		synctest.Wait()
		p.stop()
		synctest.Wait()
		if p.out.Handoff("tg") != nil {
			t.Error("it offers to take answers")
		}
		if begin, _ := take(t.Context(), ending("a", "t1", "one").Replies[0], time.Now()); begin != nil {
			t.Fatal("handed over")
		}
		p.end()
		r.wantCalls("send b slow")
	})
}
