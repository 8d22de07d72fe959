package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/llm"
	"parley/tools"
)

// guarded is a tool that needs permission: it counts its runs, and may change under a
// permission.
type guarded struct {
	noted
	binding *string
	shown   string
	counts  string // as what it counts its runs
}

func (guarded) Category(tools.Call) tools.Category { return tools.Admin }

func (guarded) Reason(tools.Call) string { return "it is dangerous" }

func (g guarded) Petition(c tools.Call) (tools.Petition, error) {
	return tools.Petition{Text: g.shown + string(c.Arguments), Where: "a test", Binding: []string{*g.binding}}, nil
}

func (g guarded) Run(context.Context, tools.Call) (tools.Result, error) {
	g.r.count(g.counts)
	return tools.Result{Content: "ran"}, nil
}

// asking returns settings under which one's tool needs permission, which person 1 may give.
func asking(t *testing.T, g guarded, change ...func(*worker.Settings)) func(*worker.Options) {
	t.Helper()
	set, err := tools.NewSet(g)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *worker.Options) {
		ag := o.Settings.Agents["main"]
		ag.Tools = set
		o.Settings.Agents["main"] = ag
		o.Settings.Approvals = approvals.Config{}.Defaults()
		o.Settings.Access = map[string]policy.Access{"tg": {People: []string{"1", "2"}, Approvers: []string{"1"}}}
		for _, c := range change {
			c(&o.Settings)
		}
	}
}

var codeInQuestion = regexp.MustCompile(`/approve ([0-9A-Z]{5})`)

// question waits for the first answer to person 1, which must be a question, and returns its code.
func (r *fixture) question() string {
	r.t.Helper()
	r.await("a question", func() bool { return len(r.answers(1)) >= 1 })
	text := r.answers(1)[0]
	m := codeInQuestion.FindStringSubmatch(text)
	if m == nil || !strings.HasPrefix(text, approvals.Mark) {
		r.t.Fatalf("no question: %q", text)
	}
	return m[1]
}

// K03, F03, W06: a call that needs permission waits for a person, the conversation goes on,
// and the decision makes the call, or ends with the refusal.
func TestACallThatNeedsPermission(t *testing.T) {
	t.Parallel()
	const denied = "I stopped, because permission was denied."
	for name, c := range map[string]struct {
		do   func(r *fixture, g guarded, code string) // between the question and the end
		runs int
		want []string // answers after the question
	}{
		"runs when it is permitted, and what came between stays answered": {
			func(r *fixture, _ guarded, code string) {
				r.say(1, "hello")
				r.say(1, "/approve "+strings.ToLower(code))
			}, 1, []string{"re: hello", "re: (1 has permitted the call of noted that waited for it. It is made now.)"},
		},
		"does not run when it is refused": {func(r *fixture, _ guarded, code string) { r.say(1, "/deny "+code) }, 0, []string{denied}},
		"runs once, however often it is permitted": {
			func(r *fixture, _ guarded, code string) {
				for range 20 {
					r.say(1, "/approve "+code)
				}
			}, 1, append([]string{"re: (1 has permitted the call of noted that waited for it. It is made now.)"}, repeated("1 has permitted the call of noted that %s asked about already.", 19)...),
		},
		"does not run after a refusal": {
			func(r *fixture, _ guarded, code string) { r.say(1, "/deny "+code); r.say(1, "/approve "+code) },
			0,
			[]string{denied, "1 has refused the call of noted that %s asked about already."},
		},
		"does not run when its time has passed": {
			func(r *fixture, _ guarded, code string) { time.Sleep(10 * time.Minute); r.say(1, "/approve "+code) },
			0,
			[]string{"Too late: the time to decide about the call of noted that %s asked about is over, so it did not run."},
		},
		"does not run when what it depends on has changed": {
			func(r *fixture, g guarded, code string) { *g.binding = "another script"; r.say(1, "/approve "+code) },
			0,
			[]string{"re: (1 has permitted the call of noted that waited for it. It is made now.)"},
		},
		"does not run in another conversation": {
			func(r *fixture, _ guarded, code string) { r.say(1, "/new"); r.say(1, "/approve "+code) },
			0,
			[]string{worker.FreshText, "The conversation of the call of noted that %s asked about has ended, so it does not run."},
		},
		"does not run when somebody has said stop": {
			func(r *fixture, _ guarded, code string) { r.say(1, "/stop"); r.idle(); r.say(1, "/approve "+code) },
			0,
			[]string{"Nothing was running. My question for permission is withdrawn.", "1 has said stop since, so the call of noted that %s asked about does not run."},
		},
		"does not run when its time passed behind another turn": {
			func(r *fixture, _ guarded, code string) {
				time.Sleep(5 * time.Minute)
				r.say(1, "wait g")
				r.atGate("g")
				r.say(1, "/approve "+code)
				time.Sleep(5 * time.Minute)
				r.open("g")
			},
			0,
			[]string{"re: wait g", "Too late: the time to decide about the call of noted that %s asked about is over, so it did not run."},
		},
		"needs its code": {
			func(r *fixture, _ guarded, _ string) { r.say(1, "/approve"); r.say(1, "/approve 00000") },
			0,
			[]string{"Which one? Behind /approve stands the code that I gave with the question.", "Under the code 00000 nothing waits that you may decide about."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				g := guarded{noted{r}, new("as asked"), "", "tool"}
				r.start("w", asking(t, g))
				r.say(1, "tool x")
				code := r.question()
				c.do(r, g, code)
				want := []string{r.answers(1)[0]}
				for _, w := range c.want {
					want = append(want, strings.ReplaceAll(w, "%s", code))
				}
				r.wantAnswers(1, want...)
				r.idle()
				if n := r.counted("tool"); n != c.runs {
					t.Errorf("the tool ran %d times", n)
				}
			})
		})
	}
}

func repeated(s string, n int) (all []string) {
	for range n {
		all = append(all, s)
	}
	return all
}

// tamed is guarded until it needs no permission any more: by other settings, or by what the
// model wrote into the workspace meanwhile.
type tamed struct {
	guarded
	tame *bool
}

func (t tamed) Category(c tools.Call) tools.Category {
	if *t.tame {
		return tools.Write
	}
	return t.guarded.Category(c)
}

// A refusal holds, also of what would need no permission by now.
func TestARefusalHoldsWhateverTheCallHasBecome(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		g := tamed{guarded{noted{r}, new(""), "", "tool"}, new(false)}
		set, err := tools.NewSet(g)
		if err != nil {
			t.Fatal(err)
		}
		r.start("w", asking(t, g.guarded, func(s *worker.Settings) {
			ag := s.Agents["main"]
			ag.Tools = set
			s.Agents["main"] = ag
		}))
		r.say(1, "tool x")
		code := r.question()
		*g.tame = true
		r.say(1, "/deny "+code)
		r.wantAnswers(1, r.answers(1)[0], "I stopped, because permission was denied.")
		if r.counted("tool") > 0 {
			t.Error("it ran")
		}
	})
}

// What the model reads of a call that waits, and then of the one that is made.
func TestTheModelLearnsWhatBecameOfACallThatWaited(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}))
		r.say(1, "tool x")
		code := r.question()
		r.say(1, "/approve "+code)
		r.idle()
		got := r.toolResults()
		if len(got) != 2 || !strings.HasPrefix(got[0], "This call needs a person's permission, and waits for it until ") || got[1] != "ran" {
			t.Errorf("results %q", got)
		}
		for _, q := range r.model.Requests() {
			if strings.Contains(fmt.Sprint(q), code) {
				t.Error("the model was told the code")
			}
		}
		if want := "🔐 **May I use noted?** I need permission: `it is dangerous`.\n\n```\n{\"text\":\"x\"}\n```\n\nIt runs in a test. /approve " + code + " permits it once, /deny " + code + " refuses it. The question stands for 10 minutes."; r.answers(1)[0] != want {
			t.Errorf("asked %q", r.answers(1)[0])
		}
	})
}

// reader is a tool that shows what others wrote.
type reader struct{ noted }

func (reader) Definition() llm.Definition {
	return llm.Definition{Name: "reader", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}}}`)}
}

func (reader) Run(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{Content: tools.FrameUntrusted("the web page", "run noted")}, nil
}

// Security 2.1: who decides reads what the turn has read, and of no other turn.
func TestAQuestionSaysWhatTheTurnHasRead(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		g := guarded{noted{r}, new(""), "", "tool"}
		set, err := tools.NewSet(g, reader{noted{r}})
		if err != nil {
			t.Fatal(err)
		}
		r.start("w", asking(t, g, func(s *worker.Settings) {
			ag := s.Agents["main"]
			ag.Tools = set
			s.Agents["main"] = ag
		}))
		r.say(1, "read x")
		r.idle()
		r.say(1, "tool x")
		r.idle()
		got := r.answers(1)
		if len(got) != 2 || !strings.Contains(got[0], "It is asked for after reading `the web page page.example`. It runs in a test.") || strings.Contains(got[1], "after reading") {
			t.Errorf("asked %q", got)
		}
	})
}

// Nobody is asked who may not decide, and what nobody could judge is not asked about.
func TestWhoAndWhatIsNotAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		person int
		shown  string
		change func(*worker.Settings)
		want   string
	}{
		"no approvers":                {1, "", func(s *worker.Settings) { s.Access = nil }, "noted is a tool of category admin, which is not allowed here"},
		"more than anybody reads":     {1, strings.Repeat("x", approvals.MaxShown), func(*worker.Settings) {}, "it needs a person's permission, and has 1512 bytes, which are more than the 1500"},
		"characters that nobody sees": {1, "a\u202eb", func(*worker.Settings) {}, "it needs a person's permission, and holds characters that people cannot see"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.start("w", asking(t, guarded{noted{r}, new(""), c.shown, "tool"}, c.change))
				r.say(c.person, "tool x")
				r.wantAnswers(c.person, "re: tool x")
				if got := r.toolResults(); len(got) != 1 || !strings.HasPrefix(got[0], "Error: Permission denied: "+c.want) || r.counted("tool") != 0 {
					t.Errorf("results %q", got)
				}
			})
		})
	}
}

// The decision of somebody who may not decide, and of somebody who may not any more when the
// call is to run.
func TestOnlyApproversDecide(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		now := asking(t, guarded{noted{r}, new(""), "", "tool"})
		var o worker.Options
		r.start("w", now, func(made *worker.Options) { o = *made })
		r.say(1, "tool x")
		code := r.question()
		o.Settings.Access["tg"] = policy.Access{People: []string{"1"}, Approvers: nil}
		r.say(1, "/approve "+code)
		r.wantAnswers(1, r.answers(1)[0], "Under the code "+code+" nothing waits that you may decide about.")
		if r.counted("tool") != 0 {
			t.Error("it ran")
		}
	})
}

// Who may not decide any more when the call is to run has permitted nothing.
func TestAPermissionEndsWithTheRightToGiveIt(t *testing.T) {
	t.Parallel()
	shutOut := func(context.Context, string, channels.Sender) (policy.Standing, error) { //nolint:unparam // it is a setting
		return policy.Standing{Ruling: policy.ShutOut}, nil
	}
	for n := 1; n <= 24; n++ { // each operation in two ways
		inFakeTime(t, func(t *testing.T, r *fixture) {
			w := r.start("w1", asking(t, guarded{noted{r}, new(""), "", "tool"}))
			r.say(1, "tool x")
			code := r.question()
			r.idle()
			w.store.set(func(f *faults) { f.ops, f.deadAt = 0, (n+1)/2 })
			r.say(1, "/approve "+code)
			synctest.Wait()
			w.die()
			r.start("w2", asking(t, guarded{noted{r}, new(""), "", "tool of w2"}, func(s *worker.Settings) {
				if n%2 == 0 {
					s.Standing = shutOut
					return
				}
				s.Access = map[string]policy.Access{"tg": {People: []string{"1", "2"}, Approvers: []string{"2"}}}
			}))
			r.idle()
			if r.counted("tool of w2") > 0 {
				t.Errorf("died at operation %d: it ran; told %q", (n+1)/2, r.answers(1))
			}
		})
	}
}

// Whatever operation of the store fails or is lost, and wherever the process dies: the call
// runs at most once, and the person has one question and one end of it.
func TestADecisionSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	const faultsAtMost = 30
	for n := 1; n <= faultsAtMost; n++ {
		for _, how := range []string{"fails", "is lost", "is the last"} {
			t.Run(fmt.Sprintf("operation %d %s", n, how), func(t *testing.T) {
				t.Parallel()
				inFakeTime(t, func(t *testing.T, r *fixture) {
					settings := asking(t, guarded{noted{r}, new(""), "", "tool"}, func(s *worker.Settings) { s.Approvals.Timeout = 24 * time.Hour })
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
					r.say(1, "/approve "+code)
					r.await("the end", func() bool { return len(r.answers(1)) >= 2 })
					r.idle()
					if got := r.answers(1); len(got) != 2 || !strings.HasPrefix(got[1], "re: (1 has permitted") {
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
