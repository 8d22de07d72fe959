package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/commands"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/sessions"
)

// letApprovers has the rig's intake know person 1 as the approver, and 2 and 3 as people; of the
// account "other" 3 is the approver.
func (r *fixture) letApprovers() {
	r.hearGroups()
	desk := &approvals.Desk{Store: r.store, Now: time.Now}
	r.intake.Questions = desk
	r.intake.Commands = &commands.Handler{Store: r.store, Now: time.Now, Questions: desk}
	src := r.intake.Sources["tg"]
	src.Access = policy.Access{People: []string{"1", "+2", "2", "3"}, Groups: []string{fmt.Sprint(kitchen)}, Approvers: []string{"1"}}
	r.intake.Sources["tg"] = src
	src.Access.Approvers = []string{"3"}
	r.intake.Sources["other"] = src
}

// byTwo is what person 2 says in the group, known by their alias.
func (r *fixture) byTwo(text string) channels.Message {
	m := inKitchen(r.message(2, text))
	m.Sender.Alias = "+2"
	return m
}

// permittedInKitchen is what the group is told when the call was made.
const permittedInKitchen = "re: (1 has permitted the call of noted that waited for it. It is made now.)"

// An approver reads in direct messages of their own what waits in another chat, and decides there;
// the result goes to the chat where it was asked.
func TestAnApproverDecidesInAnotherChat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		say  []string // what the approver says
		told []string // what they read; CODE and UNTIL stand for those of the question
		runs int
		want string // in the group
	}{
		"after reading all that waits": {
			[]string{"/approvals", "/approve CODE"},
			[]string{"DESCRIPTION", "Permitted, once: the call of noted that CODE asked about. Its result goes to the chat where it was asked."},
			1, permittedInKitchen,
		},
		"not before it was read": {
			[]string{"/approve CODE", "/approve CODE"},
			[]string{"That was asked in another chat. Please read it, and then decide:\n\nDESCRIPTION", "Permitted, once: the call of noted that CODE asked about. Its result goes to the chat where it was asked."},
			1, permittedInKitchen,
		},
		"no": {
			[]string{"/approvals", "/deny CODE", "/approve CODE", "/approvals"},
			[]string{"DESCRIPTION", "Refused: the call of noted that CODE asked about does not run.", "Under the code CODE nothing waits that you may decide about.", "Nothing waits that you may decide about."},
			0, "I stopped, because permission was denied.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.letApprovers()
				r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return true })))
				code := r.askInGroup()
				asked, _ := r.askedIn(inKitchen(r.message(2, "")).Address, code)
				description := "**" + code + "** May I use noted? Asked by `2`, in the group `" + fmt.Sprint(kitchen) + "`.\n\n```\n{\"text\":\"x\"}\n```\n\n" +
					"It runs in a test. /approve " + code + " permits it once, /deny " + code + " refuses it. The question stands until " + asked.Expires.Format("15:04:05 UTC on 2 January") + "."
				var want []string
				for i, text := range c.say {
					r.say(1, strings.ReplaceAll(text, "CODE", code))
					r.idle()
					want = append(want, strings.NewReplacer("CODE", code, "DESCRIPTION", description).Replace(c.told[i]))
				}
				r.wantAnswers(1, want...)
				r.wantGroupAnswer(c.want)
				if n := r.counted("tool"); n != c.runs {
					t.Errorf("the tool ran %d times", n)
				}
			})
		})
	}
}

// Who may not decide learns nothing of a code: they read the same as of one that there is not. Nor
// does an approver of another account, nor by an event that is brought again.
func TestWhoMayNotDecideLearnsNothingOfACode(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.letApprovers()
		r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}))
		code := r.askInGroup()
		for person, channel := range map[int]string{2: "tg", 3: "other"} {
			for _, text := range []string{"/approvals", "/approve " + code, "/approve " + code, "/approve ZZZZZ", "/deny " + code, "/deny ZZZZZ"} {
				m := r.message(person, text)
				m.Channel = channel
				r.bring(m)
				r.idle()
			}
			got := r.told(person)
			for i := range got {
				got[i] = strings.NewReplacer(code, "CODE", "ZZZZZ", "CODE").Replace(got[i])
			}
			const none = "Under the code CODE nothing waits that you may decide about."
			if want := []string{"Nothing waits that you may decide about.", none, none, none, none, none}; !slices.Equal(got, want) {
				t.Errorf("%d was told %q", person, got)
			}
		}
		again := r.message(1, "/approve "+code)
		for range 3 { // the network brings it again: nobody has said it twice
			r.bring(again)
			r.idle()
		}
		if asked, _ := r.askedIn(inKitchen(r.message(2, "")).Address, code); asked.State != approvals.Pending || r.counted("tool") > 0 || len(r.answers(1)) != 1 {
			t.Errorf("the request is %s, it ran %d times; the approver was told %q", asked.State, r.counted("tool"), r.answers(1))
		}
	})
}

// told is what waits to be sent to a person, by whichever channel.
func (r *fixture) told(person int) (texts []string) {
	r.t.Helper()
	for _, channel := range []string{"tg", "other"} {
		ds, err := r.store.Pending(context.Background(), channel, 0, 1<<20)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, d := range ds {
			if d.To == address(person) {
				texts = append(texts, d.Text)
			}
		}
	}
	return texts
}

// Whatever operation of the store fails or is lost, and wherever the process dies: a decision of
// another chat opens its turn once, and who decided reads so once.
func TestADecisionOfAnotherChatSurvivesEveryFault(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 34; n++ {
		for _, how := range []string{"fails", "is lost", "is the last"} {
			t.Run(fmt.Sprintf("operation %d %s", n, how), func(t *testing.T) {
				t.Parallel()
				inFakeTime(t, func(t *testing.T, r *fixture) {
					r.letApprovers()
					settings := asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return true }))
					w := r.start("w1", settings)
					code := r.askInGroup()
					r.say(1, "/approvals")
					r.idle()
					if how == "is the last" {
						w.store.set(func(f *faults) { f.ops, f.deadAt = 0, n })
					} else {
						w.store.arm(n, how == "is lost")
					}
					r.start("w2", settings)
					r.say(1, "/approve "+code)
					r.wantGroupAnswer(permittedInKitchen)
					if got := r.answers(1); len(got) != 2 || !strings.HasPrefix(got[1], "Permitted, once") {
						t.Errorf("the approver was told %q", got)
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

// Whoever decides in another chat reads why nothing comes of it; nothing is recorded then.
func TestADecisionOfAnotherChatThatComesToNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(r *fixture, access map[string]policy.Access, left *atomic.Bool, code string)
		told   string
	}{
		"who asked was shut out": {
			func(r *fixture, _ map[string]policy.Access, left *atomic.Bool, code string) {
				left.Store(true)
				r.say(1, "/approve "+code)
			},
			"2 may not speak to me any more, so the call of noted that CODE asked about does not run.",
		},
		"the bot was removed from the chat": {
			func(r *fixture, _ map[string]policy.Access, _ *atomic.Bool, code string) {
				at := inKitchen(r.message(2, "")).Address
				if _, _, err := r.store.CloseChat(context.Background(), sessions.CloseRequest{
					ID: "gone", Chat: sessions.ChatID{Channel: at.Channel, Account: at.Account, Peer: at.Peer}, At: time.Now(),
				}); err != nil {
					r.t.Fatal(err)
				}
				r.say(1, "/approve "+code)
			},
			"I cannot write any more to the chat where that was asked, so nothing runs.",
		},
		"somebody has said stop before it was taken up": {
			func(r *fixture, _ map[string]policy.Access, _ *atomic.Bool, code string) {
				r.bring(r.byTwo("wait g"))
				r.atGate("g")
				r.say(1, "/approve "+code)
				synctest.Wait()
				r.bring(r.byTwo("/stop"))
			},
			"Somebody has said stop in the chat where that was asked, before I took up what you decided. So nothing runs.",
		},
		"who decided is no approver any more when it is taken up": {
			func(r *fixture, access map[string]policy.Access, _ *atomic.Bool, code string) {
				r.bring(r.byTwo("wait g"))
				r.atGate("g")
				r.say(1, "/approve "+code)
				synctest.Wait()
				access["tg"] = policy.Access{People: []string{"1", "+2"}}
				r.open("g")
			},
			"Under the code CODE nothing waits that you may decide about.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				r.letApprovers()
				var left atomic.Bool
				made := worker.Options{}
				r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return !left.Load() })), func(o *worker.Options) { made = *o })
				code := r.askInGroup()
				r.say(1, "/approvals")
				r.idle()
				c.before(r, made.Settings.Access, &left, code)
				r.await("the answer", func() bool { return len(r.answers(1)) >= 2 })
				r.idle()
				if got := r.answers(1); len(got) != 2 || got[1] != strings.ReplaceAll(c.told, "CODE", code) {
					t.Errorf("the approver was told %q", got)
				}
				if asked, _ := r.askedIn(inKitchen(r.message(2, "")).Address, code); asked.State == approvals.Approved || r.counted("tool") > 0 {
					t.Errorf("the request is %s", asked.State)
				}
			})
		})
	}
}
