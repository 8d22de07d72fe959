package worker_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/gateway/signals"
	"parley/gateway/worker"
)

// Each operation of a worker's store fails once, before or after it was performed: a command that
// changes something is carried out once, and answered once.
func TestCommandIsCarriedOutOnceWhicheverOperationFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, command, want string
		after, holds          string // what is said then, and how it is answered if the command was carried out once
	}{
		"a goal is set":     {"one", "/goal paint it", "That is our goal now: `paint it`", "/done", "✓ Goal completed: `paint it`"},
		"a goal is changed": {"/goal wash it", "/goal paint it", "That is our goal now: `paint it`", "/done", "✓ Goal completed: `paint it`"},
		"a goal is reached": {"/goal paint it", "/done", "✓ Goal completed: `paint it`", "/done", "There is no goal that could be reached."},
		"plan mode begins": {
			"one", "/plan", "Plan mode is on: from your next message on I look around and propose, but change nothing. /plan ends it.",
			"/plan", "Plan mode is over: from your next message on I may change things again.",
		},
		"a title is given":      {"one", "/title Pears", "This conversation is now called `Pears`.", "two", "re: two"},
		"a conversation is new": {"one", "/new", worker.FreshText, "two", "re: two"},
	} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lost=%v", name, lost), func(t *testing.T) {
				t.Parallel()
				inFakeTime(t, func(t *testing.T, r *fixture) {
					p := r.start("w")
					for n := 1; n <= 14; n++ {
						r.say(n, c.before)
						r.idle()
						p.store.arm(n, lost)
						r.say(n, c.command)
						r.await(fmt.Sprint("an answer with operation ", n, " failing"), func() bool { return len(r.answers(n)) >= 2 })
						r.idle()
						r.say(n, c.after)
						r.idle()
						if got := r.answers(n); len(got) != 3 || got[1] != c.want || got[2] != c.holds {
							t.Errorf("operation %d: told %q", n, got)
						}
					}
				})
			})
		}
	}
}

// Each operation of a worker's store fails once while a turn with a title runs: the turn is
// answered, and the session has its title, from that turn or from the next.
func TestTitleIsThereWhicheverOperationFails(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				m := saysTitle("Fruit")
				p := r.start("w", titled(m))
				r.say(99, "it runs")
				r.idle()
				for n := 1; n <= 24; n++ {
					p.store.arm(n, lost)
					r.say(n, "apples")
					r.await(fmt.Sprint("an answer with operation ", n, " failing"), func() bool { return len(r.answers(n)) >= 1 })
					r.idle()
					time.Sleep(3 * time.Minute) // in fake time: whoever asks has given up
					r.say(n, "pears")
					r.idle()
					synctest.Wait()
					if got := r.answers(n); !slices.Equal(got, []string{"re: apples", "re: pears"}) || r.label(n) != "Fruit" {
						t.Errorf("operation %d: told %q, the session is called %q", n, got, r.label(n))
					}
				}
				if es := r.titleEntries(); len(es) < 25 || len(es) < len(m.Requests()) {
					t.Errorf("%d titles were asked for, and %d booked", len(m.Requests()), len(es))
				}
			})
		})
	}
}

// What a command cannot be carried out with, it asks for.
func TestCommandThatLacksWordsSaysWhich(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", func(o *worker.Options) { o.Settings.Goals.Off = true })
		r.say(1, "hello")
		for _, c := range [][2]string{
			{"/title", "/title takes the words of a title: /title Apples and pears."},
			{"/resume", "Which conversation? /resume takes its number, or words of its title: /sessions lists the earlier ones."},
			{"/plan a trip", "/plan begins plan mode and ends it again; behind it stands nothing, or on or off. What you want goes into a message of its own."},
			{"/plan off", "Plan mode is not on."},
			{"/goal paint it", "Goals are switched off here."},
			{"/done", "Goals are switched off here."},
		} {
			r.say(1, c[0])
			r.idle()
			if got := lastAnswer(r, 1); got != c[1] {
				t.Errorf("%s: %q, want %q", c[0], got, c[1])
			}
		}
	})
}

// A signal that is none of ours is dropped, and the log says so: who sends it is another version,
// or another program.
func TestSignalThatCannotBeReadIsDropped(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var logged bytes.Buffer
		r.start("w", func(o *worker.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
		r.say(1, "hello")
		r.idle()
		for _, topic := range []string{signals.ControlTopic, signals.WorkTopic} {
			if err := r.log.Signal(t.Context(), broker.Signal{Topic: topic, Body: []byte("{")}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if want := `msg="unreadable signal dropped" topic=` + topic; !strings.Contains(logged.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, logged.String())
			}
		}
		r.say(1, "there?")
		r.wantAnswers(1, "re: hello", "re: there?")
	})
}
