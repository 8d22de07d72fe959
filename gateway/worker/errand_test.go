package worker_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/gateway/errands"
	"parley/gateway/roles"
	jobs "parley/gateway/schedule"
	"parley/gateway/worker"
	"parley/sessions"
	"parley/tools"
)

// people's roles, which a test may change while workers run.
type roleBook struct {
	mu   sync.Mutex
	role roles.Role
}

func (b *roleBook) set(r roles.Role) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.role = r
}

// scheduling returns a desk at which person 1 has one thing scheduled, the job of that, and what gives
// it to a worker.
func scheduling(r *fixture, task string) (*errands.Desk, *roleBook, jobs.Job, func(*worker.Options)) {
	r.t.Helper()
	people := &roleBook{role: roles.User}
	desk := &errands.Desk{
		Config: errands.Config{Enabled: true}.Defaults(), Log: slog.New(slog.DiscardHandler), Book: &errands.Book{Store: r.store, Now: time.Now},
		Judge: func(context.Context, channels.Message) (errands.Judgement, error) {
			people.mu.Lock()
			defer people.mu.Unlock()
			return errands.Judgement{Agent: "main", Role: people.role}, nil
		},
	}
	e := errands.Errand{Channel: "tg", Person: "1", To: address(1), Task: task, Schedule: "0 9 * * *", Zone: "UTC", Made: time.Now()}
	e, err := desk.Book.Add(context.Background(), e, "x", 10)
	if err != nil {
		r.t.Fatal(err)
	}
	j, err := desk.Job(context.Background(), e.Name)
	if err != nil || j.Name == "" {
		r.t.Fatalf("%+v, %v", j, err)
	}
	return desk, people, j, func(o *worker.Options) { o.Settings.Errands = desk }
}

// K04, I05: a run of what a person has scheduled only reads, whatever its person may do, asks nobody, and
// happens once for each slot.
func TestARunOfWhatAPersonScheduled(t *testing.T) {
	t.Parallel()
	for category, runs := range map[tools.Category]int{tools.Read: 1, tools.Write: 0, tools.Admin: 0} {
		t.Run(string(category), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				_, people, j, with := scheduling(r, "tool x")
				people.set(roles.Owner)
				r.start("w1", with, withTool(t, chore{noted{r}, category}))
				r.start("w2", with, withTool(t, chore{noted{r}, category}))
				for range 3 {
					r.due(j, 60)
				}
				r.idle()
				r.wantAnswers(1, "re: tool x")
				if n := r.counted("chore"); n != runs {
					t.Errorf("the tool ran %d times, want %d", n, runs)
				}
				if m := r.box(j); m.Key.Address() == address(1) {
					t.Error("it ran in the people's conversation")
				}
			})
		})
	}
}

// A run that was queued or begun does not go on when its schedule is gone, or its person may not
// schedule any more.
func TestWhatIsScheduledNoMoreDoesNotRun(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*errands.Desk, *roleBook, jobs.Job) error{
		"removed":         func(d *errands.Desk, _ *roleBook, j jobs.Job) error { return d.Book.Drop(context.Background(), j.Name) },
		"of a guest":      func(_ *errands.Desk, b *roleBook, _ jobs.Job) error { b.set(roles.Guest); return nil },
		"of the shut out": func(_ *errands.Desk, b *roleBook, _ jobs.Job) error { b.set(roles.None); return nil },
		"switched off":    func(d *errands.Desk, _ *roleBook, _ jobs.Job) error { d.Config.Enabled = false; return nil },
	} {
		t.Run(name+", queued before", func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				desk, people, j, with := scheduling(r, "water the flowers")
				r.due(j, 60)
				if err := end(desk, people, j); err != nil {
					t.Fatal(err)
				}
				r.start("w1", with)
				r.idle()
				r.wantAnswers(1)
			})
		})
		t.Run(name+", begun before", func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				desk, people, j, with := scheduling(r, "wait a")
				first := r.start("w1", with)
				r.due(j, 60)
				r.atGate("a")
				first.die()
				if err := end(desk, people, j); err != nil {
					t.Fatal(err)
				}
				r.start("w2", with)
				r.idle()
				if got := r.answers(1); len(got) > 1 || len(got) == 1 && strings.HasPrefix(got[0], "re:") || len(r.model.Requests()) != 1 {
					t.Errorf("it answered %q, after %d model calls", got, len(r.model.Requests()))
				}
			})
		})
	}
}

// Whatever operation of the store fails or is lost, and wherever the process dies between the claim of
// a slot and the end of its run: there is one answer.
func TestARunSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 36; n++ {
		for _, how := range []string{"fails", "is lost", "is the last"} {
			inFakeTime(t, func(t *testing.T, r *fixture) {
				_, _, j, with := scheduling(r, "water the flowers")
				w := r.start("w1", with)
				r.idle()
				if how == "is the last" {
					w.store.set(func(f *faults) { f.ops, f.deadAt = 0, n })
				} else {
					w.store.arm(n, how == "is lost")
				}
				r.start("w2", with)
				r.due(j, 60)
				r.await("the answer", func() bool { return len(r.answers(1)) > 0 })
				r.idle()
				if got := r.answers(1); len(got) != 1 || got[0] != "re: water the flowers" {
					t.Errorf("operation %d %s: told %q", n, how, got)
				}
			})
		}
	}
}

// A run is its person's: it counts for what they and the group may spend, and has a limit of its own.
func TestWhatARunOfAPersonsScheduleIsCountedFor(t *testing.T) {
	t.Parallel()
	l := budgets.Limits{Turn: 9, Session: 2, Person: 3, Group: 4, Day: 5}
	for most, turn := range map[costs.Amount]costs.Amount{0: 9, 7: 7, 20: 9} {
		limits, person := map[string]costs.Amount{}, ""
		for _, s := range l.ErrandScopes("token", sessions.Turn{ID: "t", Session: "s", Channel: "tg", From: address(1), Sender: "job:p.1.x"}, "1", most) {
			if s.Window != costs.Month {
				limits[s.Kind] = s.Limit
			}
			if s.Kind == budgets.Person {
				person = s.ID
			}
		}
		if limits[budgets.Turn] != turn || limits[budgets.Person] != 3 || person != l.PersonScope(address(1), "1").ID {
			t.Errorf("a run of at most %d is counted for %v of %s", most, limits, person)
		}
	}
}
