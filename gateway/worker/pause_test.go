package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents"
	"parley/tools"
)

// evenPrices reckons that each call costs a cent, and so it does.
type evenPrices struct{}

func (evenPrices) Price(string, string) (*costs.Price, bool) {
	return &costs.Price{Provider: "script", Model: "scripted-1", Output: aCent / 1024, Source: "even"}, true
}

func (p evenPrices) Cost(provider, model string, _ costs.Usage) (costs.Amount, *costs.Price, error) {
	price, _ := p.Price(provider, model)
	return aCent, price, nil
}

// harmless is a tool that runs without a question.
type harmless struct{ guarded }

func (harmless) Category(tools.Call) tools.Category { return tools.Read }

// limitsOf returns limits of so many cents for the budget of that key, which may be raised by so
// many for an hour; it alone holds.
func limitsOf(key string, cents, by costs.Amount) budgets.Limits {
	l := budgets.Limits{Pause: budgets.Pause{By: map[string]costs.Amount{key: by * aCent}, For: time.Hour}}
	switch key {
	case "session":
		l.Session = cents * aCent
	case "person_per_day":
		l.Person = cents * aCent
	case "group_per_day":
		l.Group = cents * aCent
	case budgets.ChannelKey:
		l.ChannelsByTheDay = map[string]costs.Amount{"tg": cents * aCent}
	case "global_per_day":
		l.Day = cents * aCent
	case "global_per_month":
		l.Month = cents * aCent
	}
	return l
}

// pausing returns settings with these limits, in which each model call costs a cent, and person 1
// may raise a budget.
func pausing(t *testing.T, r *fixture, l budgets.Limits, change ...func(*worker.Settings)) func(*worker.Options) {
	t.Helper()
	return func(o *worker.Options) {
		asking(t, guarded{noted{r}, new(""), "", "tool"})(o)
		set, err := tools.NewSet(harmless{guarded{noted{r}, new(""), "", "tool"}})
		if err != nil {
			t.Fatal(err)
		}
		ag := o.Settings.Agents["main"]
		ag.Tools, ag.MaxTokens = set, 1024
		o.Settings.Agents["main"] = ag
		o.Settings.Loop.Prices = evenPrices{}
		o.Settings.Limits = l
		for _, c := range change {
			c(&o.Settings)
		}
	}
}

// spent returns what all calls of the gateway have cost, and hold.
func (r *fixture) spent() (settled, held costs.Amount) {
	r.t.Helper()
	settled, held, err := r.store.Spent(context.Background(), sessions.Scope{Kind: budgets.Global}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return settled, held
}

// goneOn is the answer of the turn that a permission of person 1 has opened.
const goneOn = "re: (1 has permitted to spend $0.0100 more. Go on where you stopped.)"

// At the end of each budget that may be raised the turn ends with a question; a permission opens
// one that goes on with what was done, and nothing is done or paid twice. Then the budget ends again.
func TestABudgetThatPauses(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"session", "person_per_day", "group_per_day", budgets.ChannelKey, "global_per_day", "global_per_month"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.hearGroups()
				r.start("w", pausing(t, r, limitsOf(key, 1, 1)))
				say := func(text string) { r.bring(inKitchen(r.message(1, text))) }
				say("tool x")
				r.await("a question", func() bool { return len(r.groupAnswers()) == 1 })
				r.idle()
				question := r.groupAnswers()[0]
				m := codeInQuestion.FindStringSubmatch(question)
				if m == nil || !strings.HasPrefix(question, "🔐 **May I go on?** I need more money for that: ") ||
					!strings.HasSuffix(question, "/approve "+m[1]+" raises that budget by $0.0100 for 60 minutes, /deny "+m[1]+" leaves it as it is. The question stands for 10 minutes; without an answer I leave it there.") {
					t.Fatalf("asked %q", question)
				}
				if settled, held := r.spent(); settled != aCent || held != 0 || r.counted("tool") != 1 {
					t.Errorf("before the decision %s are spent, %s held, the tool ran %d times", settled, held, r.counted("tool"))
				}
				say("/approve " + m[1])
				r.await("the end", func() bool { return len(r.groupAnswers()) == 2 })
				r.idle()
				if got := r.groupAnswers(); got[1] != goneOn {
					t.Errorf("it went on with %q", got[1])
				}
				if settled, held := r.spent(); settled != 2*aCent || held != 0 || r.counted("tool") != 1 {
					t.Errorf("%s are spent, %s held, the tool ran %d times", settled, held, r.counted("tool"))
				}
				say("hello")
				r.await("another question", func() bool { return len(r.groupAnswers()) == 3 })
				if got := r.groupAnswers()[2]; !strings.Contains(got, "May I go on?") {
					t.Errorf("after it was used up: %q", got)
				}
				if settled, _ := r.spent(); settled != 2*aCent {
					t.Errorf("%s are spent", settled)
				}
			})
		})
	}
}

// raised has person 1 come to the end of their session's budget of a cent, and raise it.
func (r *fixture) raised() {
	r.t.Helper()
	r.say(1, "tool x")
	code := r.question()
	r.say(1, "/approve "+code)
	r.await("the end", func() bool { return len(r.answers(1)) == 2 })
	r.idle()
}

// A raised budget holds for an hour, for one scope, and as long as whoever raised it may.
func TestARaiseEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key    string
		do     func(r *fixture, s *worker.Settings)
		person int
		goesOn bool
	}{
		"not before its time":        {"session", func(*fixture, *worker.Settings) { time.Sleep(59 * time.Minute) }, 1, true},
		"at its time":                {"session", func(*fixture, *worker.Settings) { time.Sleep(time.Hour) }, 1, false},
		"not for somebody else's":    {"session", func(*fixture, *worker.Settings) {}, 2, false},
		"not for another person":     {"person_per_day", func(*fixture, *worker.Settings) {}, 2, false},
		"for all whose budget it is": {"global_per_day", func(*fixture, *worker.Settings) {}, 2, true},
		"with the right to raise it": {"session", func(_ *fixture, s *worker.Settings) {
			s.Access["tg"] = policy.Access{People: []string{"1"}, Approvers: []string{"2"}}
		}, 1, false},
		"when the operator lets nobody raise": {"session", func(_ *fixture, s *worker.Settings) {
			delete(s.Limits.Pause.By, "session")
			s.Limits.Pause.By["group_per_day"] = 1
		}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				var s *worker.Settings
				limits := limitsOf(c.key, 1, 5)
				r.start("w", pausing(t, r, limits), func(o *worker.Options) { s = &o.Settings })
				if c.person == 2 && !c.goesOn { // who has used their own up, too
					r.say(2, "hello")
					r.idle()
				}
				r.raised()
				c.do(r, s)
				before := len(r.answers(c.person))
				r.say(c.person, "more")
				r.await("an answer", func() bool { return len(r.answers(c.person)) > before })
				if got := r.answers(c.person)[before]; (got == "re: more") != c.goesOn {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}

// A day's budget that is raised at its end is as it was on the next day.
func TestARaiseEndsWithItsDay(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		time.Sleep(24*time.Hour - 10*time.Minute) // a bubble begins at midnight UTC
		r.start("w", pausing(t, r, limitsOf("person_per_day", 1, 5)))
		r.raised()
		time.Sleep(11 * time.Minute)
		r.say(1, "one")
		r.idle()
		r.say(1, "two")
		r.await("answers", func() bool { return len(r.answers(1)) == 4 })
		if got := r.answers(1); got[2] != "re: one" || !strings.Contains(got[3], "May I go on?") {
			t.Errorf("told %q", got[2:])
		}
	})
}

// Whoever may not raise a budget, who says no, and who says nothing: it stays as it is, and what
// is said of it is clear.
func TestABudgetThatIsNotRaised(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(r *fixture, code string)
		want []string
	}{
		"no":        {func(r *fixture, code string) { r.say(1, "/deny "+code) }, []string{"1 has refused a higher budget, so I leave it there."}},
		"no, twice": {func(r *fixture, code string) { r.say(1, "/deny "+code); r.say(1, "/approve "+code) }, []string{"1 has refused a higher budget, so I leave it there.", "1 has refused the higher budget that CODE asked for already."}},
		"too late":  {func(r *fixture, code string) { time.Sleep(10 * time.Minute); r.say(1, "/approve "+code) }, []string{"Too late: the time to decide about the higher budget that CODE asked for is over, so nothing was raised."}},
		"stop":      {func(r *fixture, code string) { r.say(1, "/stop"); r.idle(); r.say(1, "/approve "+code) }, []string{"Nothing was running. My question for permission is withdrawn.", "1 has said stop since, so nothing is raised."}},
		"by whoever may not": {func(r *fixture, code string) {
			m := r.message(1, "/approve "+code)
			m.Sender.ID = "2"
			r.bring(m)
		}, []string{"Under the code CODE nothing waits that you may decide about."}},
		"in another conversation": {func(r *fixture, code string) { r.say(1, "/new"); r.say(1, "/approve "+code) }, []string{worker.FreshText, "The conversation of the higher budget that CODE asked for has ended, so nothing is raised."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.start("w", pausing(t, r, limitsOf("session", 1, 1)))
				r.say(1, "tool x")
				code := r.question()
				c.do(r, code)
				want := r.answers(1)[:1]
				for _, w := range c.want {
					want = append(want, strings.ReplaceAll(w, "CODE", code))
				}
				r.wantAnswers(1, want...)
				r.idle()
				if settled, held := r.spent(); settled != aCent || held != 0 {
					t.Errorf("%s are spent, %s held", settled, held)
				}
			})
		})
	}
}

// Nobody is asked where it would be of no use: the answer is the refusal, as without a pause.
func TestWhereNobodyIsAskedForMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits budgets.Limits
		change func(*worker.Settings)
		say    []string
	}{
		"a raise would not do":         {limitsOf("session", 1, 0), func(s *worker.Settings) { s.Limits.Pause.By["session"] = aCent / 2 }, []string{"tool x"}},
		"the budget may not be raised": {limitsOf("session", 1, 1), func(s *worker.Settings) { s.Limits.Pause.By = map[string]costs.Amount{"group_per_day": aCent} }, []string{"tool x"}},
		"the budget of one message":    {budgets.Limits{Turn: aCent, Pause: budgets.Pause{By: map[string]costs.Amount{"session": aCent}, For: time.Hour}}, func(*worker.Settings) {}, []string{"tool x"}},
		"nobody may raise anything":    {limitsOf("session", 1, 1), func(s *worker.Settings) { s.Access = nil }, []string{"tool x"}},
		"it was asked already":         {limitsOf("session", 1, 1), func(*worker.Settings) {}, []string{"tool x", "hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.start("w", pausing(t, r, c.limits, c.change))
				for _, text := range c.say {
					r.say(1, text)
					r.idle()
				}
				got := r.answers(1)
				if last := got[len(got)-1]; len(got) != len(c.say) || !strings.HasPrefix(last, "I had to stop: ") && !strings.HasPrefix(last, "I cannot answer: ") {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}

// A sub-agent at the end of the tree's budget answers its parent, whose turn asks.
func TestASubAgentAsksNobodyForMore(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", pausing(t, r, limitsOf("session", 2, 5)), children(t, r, subagents.Config{}))
		r.say(1, "spawn leaf")
		code := r.question()
		r.idle()
		waiting, err := approvals.Waiting(t.Context(), r.store, time.Now())
		if settled, held := r.spent(); waiting != 1 || err != nil || settled != 2*aCent || held != 0 {
			t.Errorf("%d questions wait, %s are spent, %s held, %v", waiting, settled, held, err)
		}
		r.say(1, "/approve "+code)
		r.await("the end", func() bool { return len(r.answers(1)) == 2 })
		if got := r.answers(1)[1]; got != "re: (1 has permitted to spend $0.0500 more. Go on where you stopped.)" {
			t.Errorf("told %q", got)
		}
		if results := strings.Join(r.toolResults(), " "); strings.Count(results, `"status":"budget"`) != 1 || strings.Contains(results, "May I") {
			t.Errorf("the parent read %s", results)
		}
	})
}

// A run of a job asks nobody for more.
func TestAJobAsksNobodyForMore(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		j := errand(t, "tool x")
		r.start("w", pausing(t, r, limitsOf("global_per_day", 1, 5)), withJobs(j))
		r.due(j, 60)
		r.idle()
		if got := r.answers(1); len(got) != 1 || !strings.HasPrefix(got[0], "I had to stop: ") {
			t.Errorf("told %q", got)
		}
	})
}

// An approver raises a budget from direct messages of their own, after reading which, and so does
// the operator; the work goes on where it was asked.
func TestABudgetIsRaisedFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"an approver", "an approver who refuses", "the operator", "the operator who refuses"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.letApprovers()
				r.start("w", pausing(t, r, limitsOf("person_per_day", 1, 1)))
				r.say(2, "tool x")
				r.await("a question", func() bool { return len(r.answers(2)) == 1 })
				r.idle()
				question := r.answers(2)[0]
				_, rest, _ := strings.Cut(question, "under the code ")
				code := rest[:5]
				if !strings.Contains(question, "You may not decide about it yourself.") || strings.Contains(question, "/approve") {
					t.Errorf("asked %q", question)
				}
				command, end := "/approve", "re: (1 has permitted to spend $0.0100 more. Go on where you stopped.)"
				if strings.HasSuffix(by, "refuses") {
					command, end = "/deny", "1 has refused a higher budget, so I leave it there."
				}
				if strings.HasPrefix(by, "the operator") {
					if err := r.operatorSays(address(2), command, code); err != nil {
						t.Fatal(err)
					}
					end = strings.ReplaceAll(end, "1 has", "the operator has")
				} else {
					r.say(1, "/approvals")
					r.say(1, command+" "+code)
					r.idle()
					got := r.answers(1)
					if want := "**" + code + "** May I spend more? Asked by `2`, in direct messages.\n\n```\nbudget: person_per_day of $0.01, of which $0.01 is used or set aside\nneeded now: up to $0.01\n```\n\n/approve " +
						code + " raises that budget by $0.0100 for 60 minutes, "; len(got) != 2 || !strings.HasPrefix(got[0], want) ||
						!strings.HasPrefix(got[1], "Raised: the budget that "+code+" asked about, by $0.0100 until ") && got[1] != "Refused: the budget that "+code+" asked about stays as it is." {
						t.Errorf("the approver was told %q", got)
					}
				}
				r.wantAnswers(2, question, end)
			})
		})
	}
}

// Whatever operation of the store fails or is lost, and wherever the process dies, from the end of
// the budget to the end of the work: there is one question and one end, the budget is raised once,
// no call is made or paid twice, and what is spent and held never exceeds the budget as it is.
func TestARaiseSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 40; n++ {
		for _, how := range []string{"fails", "is lost", "is the last"} {
			for _, when := range []string{"before the question", "before the decision"} {
				t.Run(fmt.Sprintf("operation %d %s %s", n, how, when), func(t *testing.T) {
					t.Parallel()
					inFakeTime(t, func(t *testing.T, r *fixture) {
						settings := pausing(t, r, limitsOf("session", 3, 10))
						w := r.start("w1", settings)
						fault := func() {
							if how == "is the last" {
								w.store.set(func(f *faults) { f.ops, f.deadAt = 0, n })
							} else {
								w.store.arm(n, how == "is lost")
							}
							r.start("w2", settings)
						}
						r.say(1, "one")
						r.say(1, "two")
						r.await("answers", func() bool { return len(r.answers(1)) == 2 })
						r.idle()
						if when == "before the question" {
							fault()
						}
						r.say(1, "tool x")
						r.await("a question", func() bool { return len(r.answers(1)) == 3 })
						r.idle()
						m := codeInQuestion.FindStringSubmatch(r.answers(1)[2])
						if m == nil {
							t.Fatalf("asked %q", r.answers(1)[2])
						}
						if settled, held := r.spent(); settled+held > 3*aCent {
							t.Errorf("%s are spent and %s held of %s", settled, held, 3*aCent)
						}
						if when == "before the decision" {
							fault()
						}
						r.say(1, "/approve "+m[1])
						r.await("the end", func() bool { return len(r.answers(1)) >= 4 })
						r.idle()
						synctest.Wait()
						if got := r.answers(1); len(got) != 4 || got[3] != "re: (1 has permitted to spend $0.1000 more. Go on where you stopped.)" {
							t.Errorf("told %q", got)
						}
						raises, err := approvals.Raises(t.Context(), r.store, time.Now())
						if err != nil || len(raises) != 1 || raises[0].By.ID != "1" || raises[0].Raise.Amount != 10*aCent {
							t.Errorf("raised %+v, %v", raises, err)
						}
						if settled, held := r.spent(); settled+held > 13*aCent {
							t.Errorf("%s are spent and %s held", settled, held)
						}
						steps := map[string]int{}
						err = r.store.Ledger(t.Context(), r.mailbox(1).Session, func(_ sessionkeys.SessionID, e costs.Entry) bool {
							if e.Outcome == "ok" {
								steps[fmt.Sprint(e.Call.Turn, " ", e.Call.Step)]++
							}
							return true
						})
						if err != nil || len(steps) > 5 || slices.Max(values(steps)) > 1 {
							t.Errorf("paid %v, %v", steps, err)
						}
						if runs := r.counted("tool"); when == "before the decision" && runs != 1 {
							t.Errorf("the tool ran %d times", runs)
						}
					})
				})
			}
		}
	}
}

func values(m map[string]int) (all []int) {
	for _, n := range m {
		all = append(all, n)
	}
	return all
}

// The operator raises a budget where nobody is offered that: the next call is made, whatever process
// and configuration, and when the raise is taken back there is none.
func TestTheOperatorRaisesABudget(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		limits := limitsOf("person_per_day", 1, 1)
		limits.Pause = budgets.Pause{}
		r.start("w", pausing(t, r, limits))
		r.say(1, "one")
		r.say(1, "two")
		r.await("a refusal", func() bool { return len(r.answers(1)) == 2 })
		r.idle()
		at := r.message(1, "x").Address
		raise, err := approvals.RaiseByOperator("ann", limits.PersonScope(at, "1"), "person_per_day", 5*aCent, time.Hour, time.Now()).WriteUnasked(t.Context(), r.store, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r.say(1, "three")
		r.await("an answer", func() bool { return len(r.answers(1)) == 3 })
		r.idle()
		if _, err := raise.Revoke(time.Now()).Write(t.Context(), r.store, time.Now()); err != nil {
			t.Fatal(err)
		}
		r.say(1, "four")
		r.await("a refusal", func() bool { return len(r.answers(1)) == 4 })
		got := r.answers(1)
		if got[0] != "re: one" || !strings.Contains(got[1], "the person budget is used up") || got[2] != "re: three" || !strings.Contains(got[3], "the person budget is used up") {
			t.Errorf("told %q", got)
		}
		if settled, held := r.spent(); settled != 2*aCent || held != 0 {
			t.Errorf("%s are spent, %s held", settled, held)
		}
	})
}
