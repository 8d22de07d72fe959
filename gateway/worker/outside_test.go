package worker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/intake"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/sessionkeys"
)

// askedIn returns the request of that code in a conversation, and the conversation's key.
func (r *fixture) askedIn(at sessionkeys.Address, code string) (approvals.Request, sessionkeys.Key) {
	r.t.Helper()
	key, err := sessionkeys.For("main", at)
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := approvals.List(context.Background(), r.store, key.Token(), time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	asked, ok := approvals.ByCode(all, code)
	if !ok {
		r.t.Fatalf("nothing is asked under %s", code)
	}
	return asked, key
}

// operatorSays has the operator decide, by the command, about the request of that code.
func (r *fixture) operatorSays(at sessionkeys.Address, command, code string) error {
	r.t.Helper()
	asked, key := r.askedIn(at, code)
	m := r.message(0, command+" "+code)
	m.Event = messages.ID{Kind: messages.Decided, About: asked.ID + "@" + m.Event}.String()
	m.Address, m.Decision = at, &channels.Decision{Request: asked.ID, Operator: true}
	m.Sender = channels.Sender{ID: asked.Asker.ID, Alias: asked.Asker.Alias}
	return r.intake.Decide(context.Background(), key, m.Sender, m)
}

// Whatever operation of the store fails or is lost, and wherever the process dies: what the
// operator decides opens its turn, once, also when nobody in the chat may say anything more.
func TestAnOperatorsDecisionSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	const faultsAtMost = 20
	for n := 1; n <= faultsAtMost; n++ {
		for _, how := range []string{"fails", "is lost", "is the last"} {
			t.Run(fmt.Sprintf("operation %d %s", n, how), func(t *testing.T) {
				t.Parallel()
				inFakeTime(t, func(t *testing.T, r *fixture) {
					r.intake.Limits = policy.Limits{PersonPerMinute: 1, PersonBurst: 1, Queue: 1}
					settings := asking(t, guarded{noted{r}, new(""), "", "tool"})
					w := r.start("w1", settings)
					r.say(1, "tool x")
					code := r.question()
					r.idle()
					if how == "is the last" {
						w.store.set(func(f *faults) { f.ops, f.deadAt = 0, n })
					} else {
						w.store.arm(n, how == "is lost")
					}
					r.start("w2", settings)
					if err := r.operatorSays(address(1), "/approve", code); err != nil {
						t.Fatal(err)
					}
					r.await("the end", func() bool { return len(r.answers(1)) >= 2 })
					r.idle()
					if got := r.answers(1); len(got) != 2 || !strings.HasPrefix(got[1], "re: (the operator has permitted") {
						t.Errorf("told %q", got)
					}
					results := r.toolResults()
					if runs := r.counted("tool"); runs > 1 || runs == 0 && !strings.Contains(results[len(results)-1], "whether it ran is not known") {
						t.Errorf("the tool ran %d times, results %q", runs, results)
					}
				})
			})
		}
	}
}

// Who asked and was shut out gets no turn, whenever that is known: before the decision is stored
// the operator reads so, and nothing is recorded; after it the request is as it was.
func TestAnOperatorPermitsNothingToWhoWasShutOut(t *testing.T) {
	t.Parallel()
	for _, known := range []string{"before", "after"} {
		inFakeTime(t, func(t *testing.T, r *fixture) {
			left := false
			r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}, func(s *worker.Settings) {
				s.Authorize = func(context.Context, channels.Message, ...string) (policy.Verdict, error) {
					return policy.Verdict{Allowed: !left, Reason: "not_allowed"}, nil
				}
			}))
			r.say(1, "tool x")
			code := r.question()
			r.idle()
			left = true
			if known == "before" {
				src := r.intake.Sources["tg"]
				src.Access = policy.Access{}
				r.intake.Sources["tg"] = src
			}
			switch err := r.operatorSays(address(1), "/approve", code); known {
			case "before":
				if _, ok := err.(*intake.RefusedError); !ok || !strings.Contains(err.Error(), "1, who asked, may not speak to me any more") { //nolint:errorlint // it is that error itself
					t.Errorf("the operator is told %v", err)
				}
			default:
				if err != nil {
					t.Errorf("the operator is told %v", err)
				}
			}
			r.idle()
			if asked, _ := r.askedIn(address(1), code); asked.State != approvals.Pending || r.counted("tool") > 0 || len(r.answers(1)) != 1 {
				t.Errorf("%s: the request is %s, it ran %d times, told %q", known, asked.State, r.counted("tool"), r.answers(1))
			}
		})
	}
}
