package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"parley/broker"
	"parley/gateway/signals"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
)

// Whoever decided, and who said stop: the buttons of the question are of no use any more.
func TestTheButtonsOfADecidedQuestionGo(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/approve ", "/deny ", "/stop "} {
		inFakeTime(t, func(t *testing.T, r *fixture) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var decided []signals.Preview
			heard := make(chan struct{})
			go func() {
				defer close(heard)
				_ = r.log.Signals(ctx, signals.PreviewTopic, func(s broker.Signal) {
					var p signals.Preview
					if err := json.Unmarshal(s.Body, &p); err != nil {
						t.Error(err)
					}
					if p.Decided {
						decided = append(decided, p)
					}
				})
			}()
			r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}))
			r.say(1, "tool x")
			code := r.question()
			r.idle()
			ds, err := r.store.Pending(t.Context(), "tg", 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			r.say(1, command+code)
			r.await("the end", func() bool { return len(r.answers(1)) == 2 })
			r.idle()
			stop()
			<-heard
			if want := (signals.Preview{Turn: ds[0].ID, Channel: "tg", To: address(1), Decided: true}); !slices.Equal(decided, []signals.Preview{want}) {
				t.Errorf("%s: announced %+v, want %+v", command, decided, want)
			}
		})
	}
}

// The log says what became of a request: when it was asked, decided, and used; by ids alone, and
// without what would run.
func TestTheLogTellsOfPermissions(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var said bytes.Buffer
		r.start("w", asking(t, guarded{noted{r}, new(""), "canary ", "tool"}), func(o *worker.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&said, nil))
		})
		m := r.message(1, "tool x")
		m.Sender.Alias, m.Sender.Name = "+49canary", "Ann canary"
		r.bring(m)
		m = r.message(1, "/approve "+r.question())
		m.Sender.Alias, m.Sender.Name = "+49canary", "Ann canary"
		r.bring(m)
		r.await("the end", func() bool { return len(r.answers(1)) == 2 })
		r.idle()
		var lines []string
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, "permission") {
				lines = append(lines, line)
			}
		}
		if len(lines) != 3 || strings.Contains(said.String(), "canary") {
			t.Fatalf("logged %q", said.String())
		}
		for i, want := range []string{`"permission asked"`, `"permission decided"`, `"permission used"`} {
			if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], `"tool":"noted"`) || !strings.Contains(lines[i], `"request":"`) {
				t.Errorf("line %d is %s, want %s", i, lines[i], want)
			}
		}
	})
}

// What the model said before its call stands above the question, apart from it.
func TestAQuestionHasTheWordsBeforeTheCall(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.model.Reply = func(int, llm.Request) llmtest.Turn {
			return llmtest.Turn{llmtest.Text("I restart it.\n\n🔐 **All is well**"), llmtest.Call{ID: "c1", Name: "noted", Input: `{"text":"x"}`}}
		}
		r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}))
		r.say(1, "go")
		r.await("a question", func() bool { return len(r.answers(1)) == 1 })
		if want := "> I restart it\\. 🔒 \\*\\*All is well\\*\\*\n\n🔐 **May I use noted?** "; !strings.HasPrefix(r.answers(1)[0], want) {
			t.Errorf("asked %q", r.answers(1)[0])
		}
	})
}

// A stop that is carried out again, because its end was lost, says the same: what was withdrawn
// by it is counted with it.
func TestAWithdrawnQuestionIsToldWhateverFails(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 24; n++ {
		for _, lost := range []bool{false, true} {
			inFakeTime(t, func(t *testing.T, r *fixture) {
				w := r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}))
				r.say(1, "tool x")
				question := r.question()
				r.idle()
				w.store.arm(n, lost)
				r.say(1, "/stop")
				r.wantAnswers(1, r.answers(1)[0], "Nothing was running. My question for permission is withdrawn.")
				r.idle()
				r.say(1, "/approve "+question)
				r.idle()
				if r.counted("tool") > 0 {
					t.Errorf("operation %d, lost %v: it ran", n, lost)
				}
			})
		}
	}
}

// Whatever operation of the store fails or is lost, and wherever the process dies, while a turn
// comes to its question: there is one question, and the code in it is that of the record.
func TestAQuestionSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 28; n++ {
		for _, how := range []string{"fails", "is lost", "is the last"} {
			t.Run(fmt.Sprintf("operation %d %s", n, how), func(t *testing.T) {
				t.Parallel()
				inFakeTime(t, func(t *testing.T, r *fixture) {
					settings := asking(t, guarded{noted{r}, new(""), "", "tool"})
					w := r.start("w1", settings)
					synctest.Wait() // it is registered
					if how == "is the last" {
						w.store.set(func(f *faults) { f.ops, f.deadAt = 0, n })
					} else {
						w.store.arm(n, how == "is lost")
					}
					r.start("w2", settings)
					r.say(1, "tool x")
					code := r.question()
					r.idle()
					if got := r.answers(1); len(got) != 1 {
						t.Fatalf("told %q", got)
					}
					r.say(1, "/approve "+code)
					r.await("the end", func() bool { return len(r.answers(1)) >= 2 })
					r.idle()
					if got := r.answers(1); len(got) != 2 || !strings.HasPrefix(got[1], "re: (1 has permitted") {
						t.Errorf("told %q", got)
					}
					if runs := r.counted("tool"); runs > 1 || runs == 0 && !strings.Contains(strings.Join(r.toolResults(), " "), "whether it ran is not known") {
						t.Errorf("it ran %d times, results %q", runs, r.toolResults())
					}
				})
			})
		}
	}
}
