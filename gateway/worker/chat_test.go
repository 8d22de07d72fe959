package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
)

func TestWhatAClosedChatWasNotYetKnownToWaitForIsPassedOver(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		kicked := r.message(1, "")
		kicked.Kind, kicked.Closed = channels.Membership, true
		m := r.old(1, "before")
		r.bring(m, kicked) // and no worker has touched the mailbox
		p := r.start("w")
		r.done(m)
		if n := r.counted("called"); n != 0 {
			t.Errorf("%d calls of the model for a chat that reads nothing", n)
		}
		if r.counted("ignored chat_closed") != 1 {
			t.Errorf("counted %v", r.counts)
		}
		p.end(t)
		// Who speaks there opens it; what waited since then is answered.
		r.bring(r.old(1, "after"), r.old(1, "again"))
		r.start("w2")
		r.wantAnswers(1, "re: after", "re: again")
	})
}

// movedKitchen is another id of the kitchen.
const movedKitchen = kitchen + 1

func toMoved(m channels.Message) channels.Message {
	m.Address.Kind, m.Address.Peer = sessionkeys.Group, fmt.Sprint(movedKitchen)
	return m
}

// moves is the network's word that the kitchen has another id.
func (s *speech) moves() channels.Message {
	m := inKitchen(s.message(0, ""))
	m.Kind, m.MovedTo, m.Sender = channels.Migrated, fmt.Sprint(movedKitchen), channels.Sender{ID: "1087968824", Anonymous: true}
	return m
}

func TestWhatWasQueuedForANewIDBeforeTheMoveWasHeardOfBelongsToTheOldConversation(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		m, early := inKitchen(r.old(1, "in the old group")), toMoved(r.old(1, "early"))
		edited := r.edit(early, "early, I mean")
		r.bring(m, early, edited, r.moves(), early, toMoved(r.old(1, "late"))) // early comes twice, once after the move
		r.start("w")
		r.done(m)
		r.done(early)
		r.done(m)
		got := r.heard(m)
		slices.Sort(got)
		want := []string{
			"[1] (I have edited what I wrote before. It now reads:)\nearly, I mean", "[1] early", "[1] in the old group", "[1] late",
		}
		if len(got) == 3 { // the edit came before its message was taken up
			want = []string{"[1] early, I mean", "[1] in the old group", "[1] late"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the conversation heard %q, want %q", got, want)
		}
		if other := r.heard(early); len(other) != 0 {
			t.Errorf("a second conversation heard %q", other)
		}
	})
}

// issue 13: what was queued under a new id, for the agent of that, belongs to the agent to which
// the chat is bound by its older one.
func TestWhatWasQueuedForANewIDGoesToTheAgentOfTheChat(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		early := toMoved(r.old(1, "early"))
		r.bring(early, r.moves())
		r.start("w", func(o *worker.Options) {
			o.Settings.Agents["duty"] = o.Settings.Agents["main"]
			bound := policy.Bound{Agent: "main", Groups: map[string]string{fmt.Sprint(kitchen): "duty"}}
			o.Settings.AgentFor = bound.AgentFor
		})
		r.done(early)
		m := inKitchen(r.old(1, ""))
		key, err := sessionkeys.For("duty", m.Address)
		if err != nil {
			t.Fatal(err)
		}
		r.await("the agent of the chat to be done", func() bool {
			is, err := r.store.Mailbox(t.Context(), key.Token())
			return err == nil && is.LastRead > 0 && !is.HasWork()
		})
		if _, err := r.store.Mailbox(t.Context(), r.keyOf(m).Token()); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("the other agent has a conversation in the chat: %v", err)
		}
	})
}
