package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
)

func (w *world) Chat(_ context.Context, id sessions.ChatID) (c sessions.Chat, err error) {
	return c, w.do("Chat", func() {
		var ok bool
		if c, ok = w.chats[id.Peer]; !ok {
			c = sessions.Chat{IDs: []string{id.Peer}}
		}
	})
}

func (w *world) change(what string, id sessions.ChatID, f func(*sessions.Chat)) (c sessions.Chat, err error) {
	c, err = w.Chat(context.Background(), id)
	return c, errors.Join(err, w.do(what, func() {
		w.changes = append(w.changes, what+" "+id.Peer)
		f(&c)
		for _, p := range c.IDs {
			if w.chats == nil {
				w.chats = map[string]sessions.Chat{}
			}
			w.chats[p] = c
		}
	}))
}

func (w *world) Move(_ context.Context, id sessions.ChatID, to string, _ time.Time) (sessions.Chat, error) {
	return w.change("Move", id, func(c *sessions.Chat) {
		if !slices.Contains(c.IDs, to) {
			c.IDs = append(c.IDs, to)
		}
	})
}

func (w *world) CloseChat(_ context.Context, s sessions.CloseRequest) (sessions.CloseResult, bool, error) {
	_, err := w.change("Shut", s.Chat, func(c *sessions.Chat) { c.Closed = true })
	return sessions.CloseResult{Dropped: 2, Mailboxes: []string{"t1"}}, err == nil, err
}

func (w *world) Reopen(_ context.Context, id sessions.ChatID, _ time.Time) error {
	_, err := w.change("Reopen", id, func(c *sessions.Chat) { c.Closed = false })
	return err
}

func (w *world) CountSent(c, outcome string, _ time.Duration) { w.count("sent", c, outcome) }

const newKitchen = "-1002"

// migrated is the network's word that the kitchen moved; its sender is nobody.
func migrated(to string) channels.Message {
	m := group("", "")
	m.Kind, m.MovedTo, m.Sender.Anonymous, m.Mentioned = channels.Migrated, to, true, false
	return m
}

func TestAGroupThatMovedIsTheSameConversation(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string][]string{"the old id is listed": {kitchen}, "the new id is listed": {newKitchen}} {
		var w world
		in := w.intake(policy.Access{People: []string{ann}, Groups: groups})
		there := group(ann, "still here")
		there.Address.Peer, there.Event = newKitchen, "e2"
		for _, m := range []channels.Message{migrated(newKitchen), migrated(newKitchen), there} {
			noError(t, in.Accept(t.Context(), m))
		}
		if len(w.published) != 1 {
			t.Fatalf("%s: published %v, counted %v", name, w.published, w.counts)
		}
		var got channels.Message
		noError(t, json.Unmarshal(w.published[0].Body, &got))
		if got.Address.Peer != kitchen || got.Origin != newKitchen || w.published[0].Key != "main:42:telegram:group:"+kitchen {
			t.Errorf("%s: queued under %s as %+v", name, w.published[0].Key, got)
		}
		// Ids of events and messages are those of the chat where they happened.
		if messages.Inbox(got).Chat != newKitchen || messages.HashText(got).Chat != newKitchen {
			t.Errorf("%s: known as %+v", name, messages.Inbox(got))
		}
	}
}

func TestAnEventThatComesAgainAfterTheMoveWasHeardOfIsTheSame(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{Everyone: true})
	m := group(ann, "hi")
	m.Address.Peer = newKitchen
	for _, m := range []channels.Message{m, migrated(newKitchen), m} {
		noError(t, in.Accept(t.Context(), m))
	}
	if len(w.published) != 2 || w.published[0].ID != w.published[1].ID {
		t.Errorf("%+v", w.published)
	}
}

func TestOnlyTheNetworkMovesAChatAndOnlyOneOfOurs(t *testing.T) {
	t.Parallel()
	said := group(ann, "hi")
	said.MovedTo = newKitchen
	elsewhere := migrated(newKitchen)
	elsewhere.Address.Peer = "-3000"
	private := migrated(newKitchen)
	private.Address = dm(ann, "").Address
	for name, m := range map[string]channels.Message{
		"a message that names another id": said, "a move of a group that is not listed": elsewhere,
		"a move of a direct message": private, "a move to nowhere": migrated(""), "a move to what is no text": migrated("\xff"),
	} {
		var w world
		in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
		noError(t, in.Accept(t.Context(), m))
		if len(w.changes) != 0 {
			t.Errorf("%s: %v", name, w.changes)
		}
	}
}

// membership is the network's word on the bot's place in a chat.
func membership(m channels.Message, closed bool) channels.Message {
	m.Kind, m.Closed = channels.Membership, closed
	return m
}

func TestAChatThatRemovedTheBotIsShutAndOpensAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		message channels.Message
		changes []string
	}{
		{"the bot is back", membership(group(ben, ""), false), []string{"Shut " + kitchen, "Reopen " + kitchen}},
		{"somebody speaks to it", group(ann, "hi"), []string{"Shut " + kitchen, "Reopen " + kitchen}},
		{"somebody who may not does", group(ben, "hi"), []string{"Shut " + kitchen}},
	} {
		var w world
		in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
		for _, m := range []channels.Message{membership(group(ben, ""), true), c.message} {
			noError(t, in.Accept(t.Context(), m))
		}
		if d := cmp.Diff(c.changes, w.changes); d != "" {
			t.Errorf("%s:\n%s", c.name, d)
		}
		if w.counts["sent tg dropped"] != 2 || !slices.Equal(w.signals[:1], []string{"control"}) {
			t.Errorf("%s: counted %v, signalled %v", c.name, w.counts, w.signals)
		}
	}
}

func TestOfChatsThatAreNotOursNothingIsKept(t *testing.T) {
	t.Parallel()
	elsewhere := group(ann, "")
	elsewhere.Address.Peer = "-3000"
	for name, m := range map[string]channels.Message{"a group": elsewhere, "a stranger": dm(ben, "")} {
		var w world
		in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
		noError(t, in.Accept(t.Context(), membership(m, true)))
		if len(w.changes) != 0 || w.counts["ignored tg not_allowed"] != 1 {
			t.Errorf("%s: %v, counted %v", name, w.changes, w.counts)
		}
	}
}

func TestWhatCouldNotBeNotedOfAChatIsOfferedAgain(t *testing.T) {
	t.Parallel()
	for fail, m := range map[string]channels.Message{
		"Move": migrated(newKitchen), "Shut": membership(group(ben, ""), true), "Reopen": membership(group(ben, ""), false),
	} {
		w := world{fail: fail, chats: map[string]sessions.Chat{kitchen: {IDs: []string{kitchen}, Closed: fail == "Reopen"}}}
		if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), m); !errors.Is(err, errDown) {
			t.Errorf("%s fails: %v", fail, err)
		}
	}
}
