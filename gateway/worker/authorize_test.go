package worker_test

import (
	"context"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/outcomes"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/gateway/worker"
	"parley/sessionkeys"
)

// listed lets only these people through, by whichever of their ids.
func listed(ids ...string) func(*worker.Options) {
	sources := map[string]intake.Source{"tg": {Access: policy.Access{People: ids, Groups: []string{"old"}}}}
	return func(o *worker.Options) {
		o.Settings.Authorize = func(ctx context.Context, m channels.Message, chat ...string) (policy.Verdict, error) {
			return intake.Reauthorize(ctx, nil, sources, m, chat...)
		}
	}
}

// abuse M8: who was taken off the list was answered from the queue and from open
// turns, with three model calls after the removal.
func TestWhoWasTakenOffTheListIsNotAnsweredAnyMore(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("a", grace(0), listed("1", "2"), waits(policy.Waiting{WhileBusy: policy.Queue}))
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "and this")
		r.say(1, "/new")
		r.queued(1, 2)
		p.end(t)
		if m := r.mailbox(1); m.Turn == nil {
			t.Fatal("no turn was left open")
		}
		calls, session := len(r.model.Requests()), r.mailbox(1).Session
		r.say(2, "hello")
		r.start("b", listed("2"), waits(policy.Waiting{WhileBusy: policy.Queue}))
		r.wantAnswers(2, "re: hello")
		r.idle()
		if got := r.answers(1); len(got) != 0 {
			t.Errorf("who is not listed any more was told %q", got)
		}
		if n := len(r.model.Requests()) - calls; n != 1 {
			t.Errorf("the model was asked %d times, not once", n)
		}
		if n := r.counted("ignored " + outcomes.NotAllowed); n != 3 {
			t.Errorf("%d messages were counted as refused, not 3", n)
		}
		if r.mailbox(1).Session != session {
			t.Error("a command was carried out")
		}
		if n := r.counted("dead attempts"); n != 0 {
			t.Errorf("%d messages went to the dead letters", n)
		}
	})
}

// (security 2, revocation lag) Who is shut out while their messages wait is not answered with them, and
// neither can they permit anything; whom that leaves alone is answered.
func TestWhoIsShutOutWhileTheyWaitIsNotAnswered(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		book := &people.Book{Store: r.store, Now: time.Now}
		sources := map[string]intake.Source{"tg": {Access: policy.Access{People: []string{"1"}}}}
		p := r.start("a", grace(0), waits(policy.Waiting{WhileBusy: policy.Queue}), func(o *worker.Options) {
			o.Settings.Standing = book.Standing
			o.Settings.Authorize = func(ctx context.Context, m channels.Message, chat ...string) (policy.Verdict, error) {
				return intake.Reauthorize(ctx, book, sources, m, chat...)
			}
		})
		if _, err := book.Allow(t.Context(), "tg", "2", roles.None, people.By{}); err != nil {
			t.Fatal(err)
		}
		r.say(2, "hello")
		r.wantAnswers(2, "re: hello")
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "and this")
		r.queued(1, 1)
		if _, err := book.Deny(t.Context(), "tg", "1", people.By{}); err != nil {
			t.Fatal(err)
		}
		r.open("x")
		r.wantAnswers(1, "re: wait x")
		r.idle()
		if n := r.counted("ignored " + outcomes.NotAllowed); n != 1 {
			t.Errorf("%d messages were counted as refused, not 1", n)
		}
		p.end(t)
	})
}

func TestWhoIsStillListedIsAnsweredFromAnOpenTurn(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]string{"by their id": {"1"}, "by their other id": {"+4915"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				p := r.start("a", grace(0), listed(list...))
				m := r.message(1, "wait x")
				m.Sender.Alias = "+4915"
				r.bring(m)
				r.atGate("x")
				p.end(t)
				r.start("b", listed(list...))
				r.open("x")
				r.wantAnswers(1, "re: wait x")
				r.idle()
				if n := r.counted("ignored " + outcomes.NotAllowed); n != 0 {
					t.Errorf("%d messages were refused", n)
				}
			})
		})
	}
}

// Of another process's channel this one has no list.
func TestAChannelOfAnotherProcessIsNotAuthorizedHere(t *testing.T) {
	t.Parallel()
	m := channels.Message{Channel: "elsewhere", Sender: channels.Sender{ID: "7"}}
	if v, err := intake.Reauthorize(t.Context(), nil, nil, m); err != nil || !v.Allowed {
		t.Errorf("refused: %s", v.Hint)
	}
	o := worker.Options{}
	listed("1")(&o)
	group := channels.Message{Channel: "tg", Address: sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "new"}, Sender: channels.Sender{ID: "1"}}
	if v, _ := o.Settings.Authorize(t.Context(), group, "old", "new"); !v.Allowed {
		t.Errorf("a group that moved is refused: %s", v.Hint)
	}
	if v, _ := o.Settings.Authorize(t.Context(), group, "new"); v.Allowed || v.Reason != outcomes.NotAllowed {
		t.Errorf("a group that is not listed: %+v", v)
	}
}
