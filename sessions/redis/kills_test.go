package redis_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// longTests makes what is slow as long as it is worth: set it to 1.
const longTests = "PARLEY_LONG"

// patient makes the client try again until a server that was killed is back. A
// try takes half a second while nobody listens. More tries would not be better: a
// client greets the server as often on a connection that broke meanwhile, in vain.
const patient = "?dial_timeout=1m&read_timeout=1m&write_timeout=1m&max_retries=100&min_retry_backoff=2ms&max_retry_backoff=5ms&pool_size=5000"

// killing runs work, which sends to done after each of its steps, and kills the
// server again and again, each time after a random number of steps up to most. It
// returns how often.
func killing(t *testing.T, server *redistest.Server, limit int, work func(done chan<- struct{})) (kills int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	steps := make(chan struct{})
	go func() {
		defer close(steps)
		work(steps)
	}()
	for left := 1; ; left-- {
		if left == 0 {
			server.Restart()
			kills++
			left = 1 + random.IntN(limit)
		}
		if _, more := <-steps; !more {
			return kills
		}
	}
}

// TestNothingThatWasConfirmedIsMissingAfterKillsOfTheServer: a server that makes
// every write durable before it answers is killed while conversations run. A
// script whose answer was lost is sent again by the client, so at the end
// everything is there, and once.
func TestNothingThatWasConfirmedIsMissingAfterKillsOfTheServer(t *testing.T) {
	t.Parallel()
	chats, turns := 8, 5
	if os.Getenv(longTests) != "" {
		turns = 300
	}
	server := redistest.Start(t, redistest.Options{Repair: true, Args: []string{"--appendfsync", "always"}})
	s := openAt(t, redis.Options{URL: server.URL + patient})
	desks := make([]*desk, chats)
	for i := range desks {
		desks[i] = newDesk(t, s, fmt.Sprint("chat-", i))
	}
	kills := killing(t, server, 16, func(done chan<- struct{}) {
		var all sync.WaitGroup
		for i, d := range desks {
			all.Go(func() {
				for n := range turns {
					d.turn(fmt.Sprintf("turn-%d-%d", i, n))
					done <- struct{}{}
				}
			})
		}
		all.Wait()
	})
	t.Logf("%d kills during %d turns", kills, chats*turns)
	server.Restart()
	checkDesks(t, s, desks, turns)
}

// TestAWriteThatWasCutByAKillDoesNotComeBack: Redis drops the half of a script's
// writes that it finds at the end of its file, but leaves them there, and would
// take them for the beginning of what it writes next at the start after.
func TestAWriteThatWasCutByAKillDoesNotComeBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Args: []string{"--appendfsync", "always"}})
	s := openAt(t, redis.Options{URL: server.URL + patient})
	d := newDesk(t, s, "chat")
	d.turn("before")
	f, turn := d.open("cut")
	c, r := sessions.Charge{Session: turn.Session, Turn: turn.ID}, call(turn.ID, 1, 70)
	d.ok(s.Reserve(t.Context(), f, c, r))
	d.ok(s.Settle(t.Context(), f, settled(r, 50)))
	server.Kill()
	server.Cut(10)
	server.Restart()
	d.ok(s.Settle(t.Context(), f, settled(r, 50))) // as if nobody had heard of the first
	server.Restart()
	d.ok(s.Check(t.Context()))
	entries := 0
	d.ok(s.Ledger(t.Context(), turn.Session, func(sessionkeys.SessionID, costs.Entry) bool { entries++; return true }))
	if entries != 2 {
		t.Errorf("%d entries, not 2", entries)
	}
}

// checkDesks looks for each turn in all that it left.
func checkDesks(t *testing.T, s sessions.Store, desks []*desk, turns int) {
	t.Helper()
	booked := map[string]int{}
	if err := s.Ledger(t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool { booked[e.ID]++; return true }); err != nil {
		t.Fatal(err)
	}
	for i, d := range desks {
		m, err := s.Mailbox(t.Context(), d.key.Token())
		d.ok(err)
		said := 0
		ms, err := s.Messages(t.Context(), m.Session)
		d.ok(err)
		for n := range turns {
			id := fmt.Sprintf("turn-%d-%d", i, n)
			if booked[id+"/root/1/1"] != 1 {
				t.Errorf("the call of %s was booked %d times", id, booked[id+"/root/1/1"])
			}
			if 2*n+1 < len(ms) && ms[2*n].ID == id+"-said" && ms[2*n+1].ID == id+"-answer" {
				said++
			}
			out, err := s.Delivery(t.Context(), id+"-reply")
			if err != nil || len(out.Parts) != 1 || out.Parts[0].State != sessions.Sent || out.Parts[0].Attempts != 1 {
				t.Errorf("the answer of %s: %+v, %v", id, out.Parts, err)
			}
		}
		found, err := s.Session(t.Context(), m.Session)
		d.ok(err)
		if said != turns || len(ms) != 2*turns || found.Own != costs.Amount(40*turns) || found.Held != 0 || m.HasWork() {
			t.Errorf("chat %d: %d of %d turns in %d messages, %d spent, %d held, %+v", i, said, turns, len(ms), found.Own, found.Held, m)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
