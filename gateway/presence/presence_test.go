package presence_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/gateway/presence"
	"parley/gateway/signals"
	"parley/sessions"
)

var (
	ann = sessions.Worker{Name: "ann", Nonce: "ANN1"} // who is watched
	bob = sessions.Worker{Name: "bob", Nonce: "BOB1"} // who watches
)

const lease = 10 * time.Second

// errStopped is what one hears of a process that is subscribed and does not answer.
var errStopped = errors.New("no answer in time")

// sign is a sign of processes, as bob's process sees it.
type sign struct {
	mu    sync.Mutex
	there map[string]bool
	mute  bool // who is there does not answer
	era   uint64
	asked int
}

func (s *sign) Attend(ctx context.Context, name string) error {
	s.set(name, true)
	<-ctx.Done()
	s.set(name, false)
	return ctx.Err()
}

func (s *sign) set(name string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there[name] = there
}

// stop lets nobody answer any more.
func (s *sign) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = true
}

func (s *sign) IsAttended(ctx context.Context, name string) (bool, error) {
	s.mu.Lock()
	s.asked++
	there, mute := s.there[name], s.mute
	s.mu.Unlock()
	if there && mute {
		<-ctx.Done()
		return false, errStopped
	}
	return there, nil
}

func (s *sign) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *sign) Era() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

// reconnect is bob's own connection, lost and back.
func (s *sign) reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era++
}

// stage is bob's worker, and what it sees of ann's.
type stage struct {
	nats, redis *sign
	working     atomic.Bool // bob
	begun       chan struct{}
	ears        chan broker.Signal

	mu      sync.Mutex
	said    []signals.Presence // by bob
	until   time.Time          // ann's lease
	reads   int                // of it
	ended   []sessions.Worker  // by bob
	endedAt time.Time
}

func (s *stage) Signal(_ context.Context, sig broker.Signal) error {
	var p signals.Presence
	if err := json.Unmarshal(sig.Body, &p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, p)
	return nil
}

func (s *stage) Signals(ctx context.Context, _ string, h func(broker.Signal)) error {
	for {
		select {
		case sig := <-s.ears:
			h(sig)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *stage) Lease(context.Context, sessions.Worker) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.until, nil
}

func (s *stage) EndLease(_ context.Context, _ sessions.Worker, until, now time.Time) (int, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.Equal(until) {
		return 0, false, nil
	}
	s.until = now
	return 3, true, nil
}

// says is what ann's worker says of itself.
func (s *stage) says(w sessions.Worker, working bool) {
	b, _ := json.Marshal(signals.Presence{Worker: w, Working: working}) // a struct of strings
	s.ears <- broker.Signal{Topic: signals.PresenceTopic, Body: b}
	synctest.Wait()
}

// works has ann say that she works for so long, as her process does.
func (s *stage) works(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		s.says(ann, true)
	}
}

// show lets both signs of ann be there or not.
func (s *stage) show(there bool) {
	s.nats.set("worker.ann1", there)
	s.redis.set("worker.ann1", there)
}

func (s *stage) dead() []sessions.Worker {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ended)
}

// asked is how often bob asked for anybody's signs, or the store.
func (s *stage) asked() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats.questions() + s.redis.questions() + s.reads
}

// onStage runs a test in which bob watches, and ann is there and idle.
func onStage(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{
			nats: &sign{there: map[string]bool{}}, redis: &sign{there: map[string]bool{}},
			begun: make(chan struct{}, 1), ears: make(chan broker.Signal, 8), until: time.Now().Add(lease),
		}
		w, err := presence.New(presence.Options{
			Self: bob, Signs: []presence.Sign{s.nats, s.redis}, Signals: s, Leases: s, Now: time.Now, Lease: lease,
			Begun: s.begun, Working: s.working.Load,
			Ended: func(w sessions.Worker, owed int) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.ended, s.endedAt = append(s.ended, w), time.Now()
				if owed != 3 {
					t.Errorf("%d conversations are left", owed)
				}
			},
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- w.Run(ctx) }()
		s.show(true)
		s.says(ann, false)
		test(t, s)
		stop()
		if err := <-over; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestAWorkerWhoseProcessDiesIsMissedWithinASecond(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{time.Millisecond, time.Second, 5*time.Hour + time.Second} {
		onStage(t, func(t *testing.T, s *stage) {
			time.Sleep(after)
			s.works(after % time.Minute)
			s.mu.Lock()
			s.until = time.Now().Add(time.Hour)
			s.mu.Unlock()
			s.show(false)
			died := time.Now()
			time.Sleep(time.Second)
			if got := s.dead(); !slices.Equal(got, []sessions.Worker{ann}) {
				t.Fatalf("%v were found dead", got)
			}
			if took := s.endedAt.Sub(died); took > 600*time.Millisecond {
				t.Errorf("found dead after %s", took)
			}
		})
	}
}

func TestAWorkerThatLivesIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(s *stage){
		"whose server of the log has gone": func(s *stage) { s.nats.set("worker.ann1", false) },
		"whose connection to the store was closed": func(s *stage) {
			s.redis.set("worker.ann1", false)
		},
		"that is stopped": func(s *stage) { s.nats.stop() },
		"that is stopped, and too slow for its server of the log": func(s *stage) {
			s.nats.set("worker.ann1", false)
			s.redis.stop()
		},
		"that lost both for a moment": func(s *stage) {
			time.Sleep(50 * time.Millisecond)
			s.show(false)
			time.Sleep(150 * time.Millisecond)
			s.show(true)
		},
		"that lost the one and then the other": func(s *stage) {
			for range 20 {
				s.nats.set("worker.ann1", false)
				time.Sleep(130 * time.Millisecond)
				s.nats.set("worker.ann1", true)
				s.redis.set("worker.ann1", false)
				time.Sleep(130 * time.Millisecond)
				s.redis.set("worker.ann1", true)
			}
		},
		"while this process was cut off from the log": func(s *stage) {
			s.nats.reconnect() // to a server that does not know the others yet
			s.show(false)
		},
		"while this process was cut off from the store": func(s *stage) {
			s.redis.reconnect() // to one that has just taken over
			s.show(false)
		},
		"while this process is cut off from the log between two looks": func(s *stage) {
			s.show(false)
			time.Sleep(150 * time.Millisecond)
			s.nats.reconnect()
		},
		"that speaks between two looks": func(s *stage) {
			s.show(false)
			time.Sleep(150 * time.Millisecond)
			s.says(ann, true)
			s.show(true)
		},
		"that rests": func(s *stage) {
			s.says(ann, false)
			s.show(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStage(t, func(t *testing.T, s *stage) {
				s.works(time.Second)
				harm(s)
				time.Sleep(lease)
				if got := s.dead(); len(got) > 0 {
					t.Errorf("%v were found dead", got)
				}
			})
		})
	}
}

// A worker of an earlier version has no signs, and one may be cut off from where the others look.
func TestWhatWasNeverSeenIsNotMissed(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(s *stage){
		"neither": func(s *stage) { s.show(false) },
		"the log": func(s *stage) { s.nats.set("worker.ann1", false) },
		"the store": func(s *stage) {
			s.redis.set("worker.ann1", false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStage(t, func(t *testing.T, s *stage) {
				hide(s)
				s.nats.reconnect() // what was seen before does not count
				s.works(3 * time.Second)
				s.show(false)
				time.Sleep(lease)
				if got := s.dead(); len(got) > 0 {
					t.Errorf("%v were found dead", got)
				}
			})
		})
	}
	t.Run("a moment later", func(t *testing.T) {
		t.Parallel()
		onStage(t, func(t *testing.T, s *stage) {
			s.show(false)
			s.nats.reconnect()
			s.says(ann, false) // it has just begun
			s.show(true)
			time.Sleep(3 * time.Second)
			s.says(ann, true)
			s.show(false)
			time.Sleep(time.Second)
			if got := s.dead(); len(got) != 1 {
				t.Errorf("%v were found dead", got)
			}
		})
	})
}

func TestTheLeaseOfAWorkerThatRenewedItIsNotEnded(t *testing.T) {
	t.Parallel()
	onStage(t, func(t *testing.T, s *stage) {
		s.works(time.Second)
		s.show(false)
		for range 100 { // its heartbeats come through, however it looks
			time.Sleep(70 * time.Millisecond)
			s.mu.Lock()
			s.until = time.Now().Add(lease)
			s.mu.Unlock()
		}
		if got := s.dead(); len(got) > 0 {
			t.Errorf("%v were found dead", got)
		}
	})
}

func TestAWorkerThatIsFollowedByOneOfItsNameIsForgotten(t *testing.T) {
	t.Parallel()
	onStage(t, func(t *testing.T, s *stage) {
		s.works(time.Second)
		s.show(false)
		s.says(sessions.Worker{Name: "ann", Nonce: "ANN2"}, false)
		time.Sleep(lease)
		if got := s.dead(); len(got) > 0 {
			t.Errorf("%v were found dead", got)
		}
	})
}

// Who is silent and there is asked for more and more seldom, and no longer than its lease.
func TestWhereNobodyWorksNobodyIsAsked(t *testing.T) {
	t.Parallel()
	onStage(t, func(t *testing.T, s *stage) {
		s.works(time.Second)
		s.says(ann, false)
		asked := s.asked()
		time.Sleep(50 * time.Minute)
		if n := s.asked() - asked; n > 0 {
			t.Errorf("%d questions in 50 minutes in which nobody worked", n)
		}
		s.works(10 * time.Minute)
		if n := s.asked() - asked; n > 0 {
			t.Errorf("%d questions about a worker that speaks", n)
		}
		s.nats.stop() // stopped
		time.Sleep(time.Hour)
		if n := s.asked() - asked; n < 5 || n > 30 {
			t.Errorf("%d questions about a worker that was stopped", n)
		}
	})
}

func TestAWorkerSaysThatItLivesWhileItWorks(t *testing.T) {
	t.Parallel()
	onStage(t, func(t *testing.T, s *stage) {
		heard := func() (words string) {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, p := range s.said {
				if p.Worker != bob {
					t.Errorf("said %+v", p)
				}
				words += map[bool]string{true: "w", false: "-"}[p.Working]
			}
			s.said = nil
			return words
		}
		if got := heard(); got != "-" {
			t.Errorf("said at the beginning %q", got)
		}
		time.Sleep(time.Hour)
		if got := heard(); got != "" {
			t.Errorf("said in an hour without work %q", got)
		}
		s.working.Store(true)
		s.begun <- struct{}{}
		time.Sleep(time.Second + time.Millisecond)
		if got := heard(); got != strings.Repeat("w", 6) {
			t.Errorf("said in a second of work %q", got)
		}
		s.working.Store(false)
		time.Sleep(time.Hour)
		if got := heard(); got != "-" {
			t.Errorf("said in an hour after it %q", got)
		}
	})
}

func TestOneSignIsNotEnough(t *testing.T) {
	t.Parallel()
	if _, err := presence.New(presence.Options{Signs: []presence.Sign{&sign{}}}); err == nil {
		t.Error("others are judged by one sign")
	}
}
