package redis_test

import (
	"testing"
	"time"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// TestWhoseFenceEndedYieldsNothingOfTheNextOwner: Yield decides on the mailbox as this
// process knows it, and then finds it again among those that another one left.
func TestWhoseFenceEndedYieldsNothingOfTheNextOwner(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	here, there := fixture{t, openAt(t, redis.Options{URL: server.URL})}, fixture{t, openAt(t, redis.Options{URL: server.URL})}
	anns := here.take(here.alive("ann"), "one", 1)
	later := noon.Add(2 * time.Hour)
	bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
	there.ok(there.s.Heartbeat(t.Context(), bob, later.Add(time.Minute)))
	ms, err := there.s.Recover(t.Context(), bob, later, 1)
	there.ok(err)
	if len(ms) != 1 {
		t.Fatalf("bob got %+v", ms)
	}
	_, err = here.s.Yield(t.Context(), anns.Fence(), later.Add(time.Hour)) // bob does not live by then
	here.is(err, sessions.ErrFenced)
	m, err := there.s.Mailbox(t.Context(), anns.Token)
	there.ok(err)
	if m.Fence() != ms[0].Fence() {
		t.Errorf("bob's mailbox is %+v", m)
	}
}

// TestWhatAProcessKnowsIsComparedBeforeItWrites: another process has taken the mailbox,
// and this one believes what it knows of it.
func TestWhatAProcessKnowsIsComparedBeforeItWrites(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(h fixture, m sessions.Mailbox, turn sessions.Turn) error{
		"a write beside the mailbox": func(h fixture, m sessions.Mailbox, turn sessions.Turn) error {
			_, _, err := h.s.Spawn(t.Context(), m.Fence(), h.child(turn))
			return err
		},
		"a write of the mailbox": func(h fixture, m sessions.Mailbox, _ sessions.Turn) error {
			return h.s.Skip(t.Context(), m.Fence(), 9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			here, there := fixture{t, openAt(t, redis.Options{URL: server.URL})}, fixture{t, openAt(t, redis.Options{URL: server.URL})}
			m := here.take(here.alive("ann"), "one", 1)
			turn := here.open(m, 1)
			there.ok(there.s.Leave(t.Context(), m.Owner))
			bobs := there.take(there.alive("bob"), "one", 1)
			here.is(write(here, m, turn), sessions.ErrFenced)
			found, err := there.s.Mailbox(t.Context(), m.Token)
			if there.ok(err); found.Fence() != bobs.Fence() || found.LastRead != 1 {
				t.Errorf("bob's mailbox is %+v", found)
			}
			tree, err := there.s.Tree(t.Context(), turn.Session)
			if there.ok(err); len(tree) != 1 {
				t.Errorf("%d sessions, not 1", len(tree))
			}
		})
	}
}

// TestWhatAnOperationOnlyTellsIsCompared: nothing is written, and the owner is the same;
// but another process has noted a message.
func TestWhatAnOperationOnlyTellsIsCompared(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	here, there := fixture{t, openAt(t, redis.Options{URL: server.URL})}, fixture{t, openAt(t, redis.Options{URL: server.URL})}
	m := here.take(here.alive("ann"), "one", 1)
	there.try(m.Owner, "one", 7)
	told, released, err := here.s.Release(t.Context(), m.Fence())
	if here.ok(err); released || told.LastSeen != 7 {
		t.Errorf("released %v, and told %+v", released, told)
	}
}

// TestNothingIsReadOrWrittenInAnEraThatIsOver, also on a connection that has greeted
// the server before.
func TestNothingIsReadOrWrittenInAnEraThatIsOver(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"read", "written"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			h := fixture{t, openAt(t, redis.Options{URL: server.URL, Facts: &facts{}})}
			m := h.take(h.alive("ann"), "one", 1)
			turn := h.open(m, 1)
			h.ok(raw(t, server).HSet(t.Context(), "parley:meta", "era", "none").Err()) // somebody takes it over, and dies
			if what == "written" {
				h.is(h.s.Append(t.Context(), m.Fence(), turn.ID, said("late")), sessions.ErrFenced)
				return
			}
			found, err := h.s.Mailbox(t.Context(), m.Token)
			if h.ok(err); found.Owner.Nonce != "" {
				t.Errorf("it is still owned: %+v", found)
			}
		})
	}
}
