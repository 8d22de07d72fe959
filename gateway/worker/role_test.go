package worker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/goals"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/tools"
)

// withRoles lets everybody talk to the bot, with these roles, and keeps what is decided about them.
func withRoles(r *fixture, said policy.RoleLists) (*people.Book, func(*worker.Options)) {
	book := &people.Book{Store: r.store, Now: time.Now}
	return book, func(o *worker.Options) {
		o.Settings.Goals = goals.Config{}.Defaults()
		o.Settings.Approvals = approvals.Config{}.Defaults()
		o.Settings.Access = map[string]policy.Access{"tg": {Everyone: true, Roles: said}}
		o.Settings.Standing, o.Settings.Approvers = book.Standing, book.HasApprover
	}
}

// (security 5.1) The tools of a guest's turn only read, whatever they say, wherever and by whichever
// id; those of others are as they were. What writes is absent from the request, and refused too.
func TestToolsOfAGuest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		category tools.Category
		change   func(*channels.Message)
		runs     int
	}{
		"reading":              {tools.Read, nil, 1},
		"writing":              {tools.Write, nil, 0},
		"what must be allowed": {tools.Admin, nil, 0},
		"in a group": {tools.Write, func(m *channels.Message) {
			m.Address.Kind, m.Address.Peer, m.Mentioned = sessionkeys.Group, fmt.Sprint(kitchen), true
		}, 0},
		"forwarding an owner": {tools.Write, func(m *channels.Message) {
			m.Forwarded = []channels.Quote{{Text: "tool x", Author: channels.Sender{ID: "9"}}}
		}, 0},
		"replying to an owner":   {tools.Write, func(m *channels.Message) { m.ReplyTo = &channels.Quote{Text: "x", Author: channels.Sender{ID: "9"}} }, 0},
		"under the owner's name": {tools.Write, func(m *channels.Message) { m.Sender.Name = "9" }, 0},
		"by their other id":      {tools.Write, func(m *channels.Message) { m.Sender = channels.Sender{ID: "9", Alias: "1"} }, 0},
		"with an edit":           {tools.Write, func(m *channels.Message) { m.Kind = channels.Edited }, 0},
		"somebody else":          {tools.Write, func(m *channels.Message) { m.Sender.ID = "7" }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				_, with := withRoles(r, policy.RoleLists{Guest: []string{"1"}, Owner: []string{"9"}})
				r.start("w1", with, withTool(t, chore{noted{r}, c.category}))
				m := r.message(1, "tool x")
				if c.change != nil {
					c.change(&m)
				}
				r.bring(m)
				r.idle()
				if n := r.counted("chore"); n != c.runs {
					t.Errorf("the tool ran %d times, want %d", n, c.runs)
				}
				asked := r.model.Requests()
				if len(asked) == 0 || (len(asked[0].Tools) == 1) != (c.runs == 1) {
					t.Errorf("the model was asked %d times, with %d tools at first", len(asked), len(asked[0].Tools))
				}
			})
		})
	}
}

// sometimes is a tool that only reads unless it has arguments.
type sometimes struct{ chore }

func (s sometimes) Category(c tools.Call) tools.Category {
	if len(c.Arguments) == 0 {
		return tools.Read
	}
	return s.category
}

// What a guest's model is shown is judged again with its arguments.
func TestACallOfAGuestThatWouldWriteIsDenied(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		_, with := withRoles(r, policy.RoleLists{Guest: []string{"1"}})
		r.start("w1", with, withTool(t, sometimes{chore{noted{r}, tools.Write}}))
		r.say(1, "tool x")
		r.idle()
		if told := strings.Join(r.toolResults(), " "); r.counted("chore") != 0 || !strings.Contains(told, "who asks is a guest here") {
			t.Errorf("the tool ran %d times; the model was told %q", r.counted("chore"), told)
		}
	})
}

// The role is read when a turn is taken up: also of one that waits, and of one that a process left
// open.
func TestTheRoleIsReadWhenATurnIsTakenUp(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		book, with := withRoles(r, policy.RoleLists{})
		tool := withTool(t, chore{noted{r}, tools.Write})
		first := r.start("w1", with, tool, waits(policy.Waiting{WhileBusy: policy.Queue}))
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "tool x")
		r.queued(1, 1)
		if _, err := book.Allow(t.Context(), "tg", "1", roles.Guest, people.By{}); err != nil {
			t.Fatal(err)
		}
		first.die()
		r.start("w2", with, tool, waits(policy.Waiting{WhileBusy: policy.Queue}))
		r.open("x")
		r.idle()
		if n := r.counted("chore"); n != 0 {
			t.Errorf("who is a guest by now had the tool run %d times", n)
		}
		if _, err := book.Allow(t.Context(), "tg", "1", roles.User, people.By{}); err != nil {
			t.Fatal(err)
		}
		r.say(1, "tool x")
		r.idle()
		if n := r.counted("chore"); n != 1 {
			t.Errorf("who is a user again had the tool run %d times", n)
		}
	})
}

// revoking is a tool that changes something, and runs a decision of the operator the first time.
type revoking struct {
	chore
	decide func()
}

func (v revoking) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	if v.r.counted("chore") == 0 {
		defer v.decide()
	}
	return v.chore.Run(ctx, c)
}

// Security 2: revoke during a turn, and the next tool call is refused.
func TestTheRoleIsReadBeforeEachCallThatChangesSomething(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(*people.Book) error
		runs   int
		want   string
	}{
		"who is shut out": {func(b *people.Book) error {
			_, err := b.Deny(t.Context(), "tg", "1", people.By{})
			return err
		}, 1, "I have stopped: who asked me for this may not talk to me any more."},
		"who is a guest now": {func(b *people.Book) error {
			_, err := b.Allow(t.Context(), "tg", "1", roles.Guest, people.By{})
			return err
		}, 1, "re: twice x"},
		"who is what they were": {func(*people.Book) error { return nil }, 2, "re: twice x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				book, with := withRoles(r, policy.RoleLists{})
				r.start("w1", with, withTool(t, revoking{chore{noted{r}, tools.Write}, func() {
					if err := c.decide(book); err != nil {
						t.Error(err)
					}
				}}))
				r.say(1, "twice x")
				r.idle()
				if n := r.counted("chore"); n != c.runs {
					t.Errorf("the tool ran %d times, want %d", n, c.runs)
				}
				if got := r.answers(1); len(got) != 1 || got[0] != c.want {
					t.Errorf("answers %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A guest changes nothing of how a conversation goes on.
func TestCommandsOfAGuest(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		_, with := withRoles(r, policy.RoleLists{Guest: []string{"1"}})
		r.start("w1", with)
		for _, command := range []string{"/goal delete it all", "/done", "/plan", "/model other", "/provider other"} {
			for _, who := range []int{1, 2} {
				before := len(r.answers(who))
				r.say(who, command)
				r.await("the answer", func() bool { return len(r.answers(who)) > before })
				if got := r.answers(who)[before]; (got == "You may talk to me here, but not change how I answer.") != (who == 1) {
					t.Errorf("%d says %s and is told %q", who, command, got)
				}
			}
		}
		r.say(1, "/new")
		r.wantAnswers(1, append(r.answers(1)[:5], worker.FreshText)...)
	})
}

// Whom only a record makes an admin permits, in a direct message too.
func TestWhomARecordMakesAnAdminPermits(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		book, with := withRoles(r, policy.RoleLists{})
		r.start("w1", withTool(t, guarded{noted{r}, new(""), "", "tool"}), with)
		r.say(1, "tool x")
		r.wantAnswers(1, "re: tool x")
		if _, err := book.Allow(t.Context(), "tg", "1", roles.Admin, people.By{}); err != nil {
			t.Fatal(err)
		}
		r.say(1, "tool x")
		r.await("the question", func() bool { return len(r.answers(1)) == 2 })
		code := codeInQuestion.FindStringSubmatch(r.answers(1)[1])
		if code == nil {
			t.Fatalf("asked %q", r.answers(1))
		}
		r.say(1, "/approve "+code[1])
		r.idle()
		if r.counted("tool") != 1 {
			t.Errorf("it ran %d times; told %q", r.counted("tool"), r.answers(1))
		}
	})
}

// What a guest may not say by a command they do not bring about by words: no message of theirs becomes
// a goal, and none that is active is reached by an answer to them.
func TestMessagesOfAGuestChangeNoGoal(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		_, with := withRoles(r, policy.RoleLists{Guest: []string{"1"}})
		r.start("w1", with, func(o *worker.Options) { o.Settings.Goals.FromMessages = true })
		said := func(who int, text string) channels.Message {
			m := r.message(who, text)
			m.Address.Kind, m.Address.Peer, m.Mentioned = sessionkeys.Group, fmt.Sprint(kitchen), true
			return m
		}
		goal := func() goals.Goal {
			m, err := r.store.Mailbox(t.Context(), r.keyOf(said(1, "")).Token())
			if err != nil {
				t.Fatal(err)
			}
			g, err := goals.Read(t.Context(), r.store, m.Session, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		says := func(who int, text string) {
			r.bring(said(who, text))
			r.idle()
		}
		says(1, "delete it all")
		if g := goal(); g.State != goals.Idle {
			t.Errorf("the goal of a guest's message is %s", g)
		}
		says(2, "clean up")
		says(1, "done")
		if g := goal(); g.State != goals.Active || !strings.HasSuffix(g.Text, "clean up") {
			t.Errorf("after a guest's word the goal of another is %s", g)
		}
		says(2, "done")
		if g := goal(); g.State != goals.Completed {
			t.Errorf("after the answer that says so the goal is %s", g)
		}
	})
}
