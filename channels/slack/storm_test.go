package slack_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/runtest"
	sim "parley/simulators/slack"
)

// storm takes events and remembers when each was taken first.
type storm struct {
	mu      sync.Mutex
	refused map[string]bool            // texts that were offered once, and not taken
	taken   map[string]time.Time       // by text
	events  map[string]map[string]bool // ids under which a text came
}

var errNotYet = errors.New("not yet")

// accept takes a message, some only when they are offered again.
func (s *storm) accept(_ context.Context, m channels.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Kind != channels.Said {
		return nil
	}
	if m.Text[len(m.Text)-1]%3 == 0 && !s.refused[m.Text] {
		s.refused[m.Text] = true
		return errNotYet
	}
	if s.events[m.Text] == nil {
		s.events[m.Text], s.taken[m.Text] = map[string]bool{}, time.Now()
	}
	s.events[m.Text][m.Event] = true
	return nil
}

// stormSeed is PARLEY_SEED, or a random one.
func stormSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64() // any will do
	if text := os.Getenv("PARLEY_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PARLEY_SEED: %v", err)
		}
	}
	t.Logf("seed %d: PARLEY_SEED=%d repeats it", seed, seed)
	return seed
}

// However connections end, announced or not, and whatever is brought again: each
// message comes, under one id, is acknowledged only when it was taken, and Slack
// is never asked for many connections. (F12)
func TestF12_InAStormOfDisconnectsEverythingComesUnderOneID(t *testing.T) {
	t.Parallel()
	seed := stormSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0x12)) // it must repeat
	storms := 40
	if os.Getenv("PARLEY_LONG") != "" {
		storms = 200
	}
	r := newRig(t, func(o *sim.Options) { o.Seed = seed })
	r.plan(t,
		sim.Fault{Trouble: sim.Ambiguous, Method: "event", Probability: 0.03},
		sim.Fault{Trouble: sim.Dropped, Method: "event", Probability: 0.03},
		sim.Fault{Trouble: sim.Disconnect, Probability: 0.03},
		sim.Fault{Trouble: sim.LostAck, Probability: 0.1},
		sim.Fault{Trouble: sim.Duplicated, Probability: 0.1, Copies: 4},
		sim.Fault{Trouble: sim.Reordered, Probability: 0.1},
		sim.Fault{Trouble: sim.MentionFirst, Probability: 0.5},
	)
	s := &storm{refused: map[string]bool{}, taken: map[string]time.Time{}, events: map[string]map[string]bool{}}
	ch := r.open(t)
	runtest.Start(t, "Receive", func(ctx context.Context) error { return ch.Receive(ctx, s.accept) })
	said := 0
	for range storms {
		r.connected(t)
		for range rng.IntN(4) {
			text := fmt.Sprintf("message %d", said)
			switch p := []sim.Person{ann, bob}[rng.IntN(2)]; rng.IntN(3) {
			case 0:
				r.say(t, r.dm(t, p), p, text, sim.SayOptions{})
			default:
				r.say(t, []sim.Channel{general, secretC, three}[rng.IntN(3)], p, "<@"+botUser+"> "+text, sim.SayOptions{Raw: true})
			}
			said++
		}
		var err error
		before := r.Totals().Connections
		if way := rng.IntN(4); way == 0 {
			_, err = r.Cut("parley")
		} else {
			_, err = r.Disconnect("parley", []string{"warning", "refresh_requested", "too_many_websockets"}[way-1])
		}
		if err != nil {
			t.Fatal(err)
		}
		r.until(t, func(b sim.Book) bool { return b.Totals.Connections > before })
	}
	r.ClearFaults()
	r.connected(t)
	r.Lapse() // what lost its acknowledgement comes once more
	r.until(t, func(b sim.Book) bool { return b.Pending["parley"] == 0 })
	book := r.Books()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range said {
		if text := fmt.Sprintf("message %d", i); len(s.events[text]) != 1 {
			t.Errorf("%q came under %d ids", text, len(s.events[text]))
		}
	}
	for _, e := range book.Events {
		if e.GivenUp {
			t.Errorf("Slack gave up %+v", e)
		}
		for text, at := range s.taken {
			if e.Text != text && e.Text != "<@"+botUser+"> "+text {
				continue
			}
			if i := slices.IndexFunc(e.Attempts, func(a sim.AttemptEntry) bool { return !a.Acknowledged.IsZero() && a.Acknowledged.Before(at) }); i >= 0 {
				t.Errorf("%q was acknowledged %s before it was taken", text, at.Sub(e.Attempts[i].Acknowledged))
			}
		}
	}
	limit := 0
	for _, c := range book.Connections {
		limit = max(limit, c.Beside)
	}
	if limit > 10 || book.Totals.Connections <= storms {
		t.Errorf("%d connections, %d at once", book.Totals.Connections, limit)
	}
	t.Logf("%d connections, at most %d at once; %d messages in %d events, delivered %d times",
		book.Totals.Connections, limit, said, book.Totals.Events, book.Totals.Delivered)
}
