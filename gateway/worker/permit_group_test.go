package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/transcript"
)

// hearGroups has the rig's model take what is said in a group for what is said to it.
func (r *fixture) hearGroups() {
	r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
		q.Messages = slices.Clone(q.Messages)
		for i, m := range q.Messages {
			if _, said, ok := strings.Cut(m.Text(), "] "); ok && m.Role == transcript.User {
				q.Messages[i].Parts = []transcript.Part{transcript.Text{Text: said}}
			}
		}
		return r.reply(n, q)
	}
}

// groupAnswers is what waits to be sent to groups, in order.
func (r *fixture) groupAnswers() (texts []string) {
	r.t.Helper()
	ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range ds {
		if d.To.Kind == sessionkeys.Group {
			texts = append(texts, d.Text)
		}
	}
	return texts
}

// askInGroup has person 2, who is known by an alias, ask for what needs permission, and returns
// the code of the question.
func (r *fixture) askInGroup() (code string) {
	r.t.Helper()
	m := inKitchen(r.message(2, "tool x"))
	m.Sender.Alias = "+2"
	r.bring(m)
	r.await("a question", func() bool { return len(r.groupAnswers()) == 1 })
	r.idle()
	return codeInQuestion.FindStringSubmatch(r.groupAnswers()[0])[1]
}

func (r *fixture) wantGroupAnswer(want string) {
	r.t.Helper()
	r.await("an end", func() bool { return len(r.groupAnswers()) >= 2 })
	r.idle()
	if got := r.groupAnswers(); len(got) != 2 || got[1] != want {
		r.t.Errorf("the group was told %q, want %q behind the question", got, want)
	}
}

// authorized lets person 1 speak, and person 2 by their alias as long as member says so.
func authorized(member func() bool) func(*worker.Settings) {
	return func(s *worker.Settings) {
		s.Access = map[string]policy.Access{"tg": {People: []string{"1", "+2"}, Approvers: []string{"1"}}}
		s.Authorize = func(_ context.Context, m channels.Message, _ ...string) (policy.Verdict, error) {
			now := policy.Access{People: []string{"1"}}
			if member() {
				now.People = append(now.People, "+2")
			}
			return now.AuthorizePerson(m.Sender, m.Address.Kind, policy.NoRuling), nil
		}
	}
}

// A call is the asker's: when they may not speak to the bot any more, nobody can permit it.
func TestNothingIsPermittedToWhoMayNotSpeakAnyMore(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.hearGroups()
		var left atomic.Bool
		r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return !left.Load() })))
		code := r.askInGroup()
		left.Store(true)
		r.bring(inKitchen(r.message(1, "/approve "+code)))
		r.wantGroupAnswer("2 may not speak to me any more, so the call of noted that " + code + " asked about does not run.")
		if r.counted("tool") > 0 {
			t.Error("it ran")
		}
	})
}

// Who takes the turn of a decision over knows the asker by all of their ids, though somebody
// else's message opened it.
func TestADecidedTurnIsTakenOverForItsAsker(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 26; n++ {
		t.Run(fmt.Sprint("died at operation ", n), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.hearGroups()
				settings := asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return true }))
				w := r.start("w1", settings)
				code := r.askInGroup()
				w.store.set(func(f *faults) { f.ops, f.deadAt = 0, n })
				r.bring(inKitchen(r.message(1, "/approve "+code)))
				synctest.Wait()
				w.die()
				r.start("w2", settings)
				r.wantGroupAnswer("re: (1 has permitted the call of noted that waited for it. It is made now.)")
			})
		})
	}
}

// Nor when they are shut out while the decision waits for their other turns; who decided elsewhere reads
// that there.
func TestNothingIsPermittedToWhoIsShutOutBeforeTheirTurn(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprintf("elsewhere %v", elsewhere), func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.letApprovers()
				var left atomic.Bool
				r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return !left.Load() })), func(o *worker.Options) { o.Config.PersonTurns = 1 })
				code := r.askInGroup()
				other := r.message(2, "wait g")
				other.Sender.Alias = "+2"
				r.bring(other)
				r.atGate("g")
				decision := inKitchen(r.message(1, "/approve "+code))
				if elsewhere {
					r.say(1, "/approvals")
					synctest.Wait()
					decision = r.message(1, "/approve "+code)
				}
				r.bring(decision)
				synctest.Wait()
				left.Store(true)
				asked := len(r.model.Requests())
				r.open("g")
				why := "2 may not speak to me any more, so the call of noted that " + code + " asked about does not run."
				if elsewhere {
					r.await("an answer", func() bool { got := r.answers(1); return got[len(got)-1] == why })
				} else {
					r.wantGroupAnswer(why)
				}
				r.idle()
				if n := len(r.model.Requests()); n != asked || r.counted("tool") > 0 {
					t.Errorf("the model was asked %d times more, and the tool ran %d times", n-asked, r.counted("tool"))
				}
			})
		})
	}
}
