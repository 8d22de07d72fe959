package telegram_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/sessionkeys"
	sim "parley/simulators/telegram"
)

func TestRow11_TheMessagesOfAnAlbumCarryItsID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	join(t, r, events, super)
	if _, err := r.Album(super, ann, "@parley_bot what is this?", 3, sim.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	first, rest := next(t, events), []channels.Message{next(t, events), next(t, events)}
	if first.Album == "" || first.Text != "what is this?" || !first.Mentioned || len(first.Attachments) != 1 {
		t.Errorf("the first came as %+v", first)
	}
	for _, m := range rest {
		if m.Album != first.Album || m.Text != "" || m.Mentioned || len(m.Attachments) != 1 || m.Kind != channels.Said {
			t.Errorf("one of the others came as %+v", m)
		}
	}
	r.say(t, super, ann, "alone", sim.SayOptions{})
	if m := next(t, events); m.Album != "" {
		t.Errorf("a message by itself came as %+v", m)
	}
}

func TestRow11_APasteThatTheClientSplitComesInOrderAndAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	text := strings.Repeat("A sentence of some words, which is pasted. ", 210)
	parts, err := r.Paste(sim.PrivateChat(ann), ann, text, sim.SayOptions{})
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	var all []string
	for i, p := range parts {
		m := next(t, events)
		if m.Kind != channels.Said || m.MessageID != decimal(p.MessageID) || m.Sender.ID != "1001" || m.Album != "" || m.SentAt.IsZero() {
			t.Errorf("part %d came as %+v", i, m)
		}
		all = append(all, m.Text)
	}
	if strings.Join(all, " ") != strings.TrimSpace(text) {
		t.Error("the parts are not the text")
	}
}

func TestRow12_NobodyStandsInForAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	join(t, r, events, super)
	other := sim.Chat{ID: -1001000000900, Kind: sim.Channel, Title: "News"}
	for guise, id := range map[sim.Guise]string{
		sim.AsAnonymousAdmin: decimal(super.ID), sim.AsChannel: decimal(other.ID), sim.AsAutoForward: decimal(other.ID),
	} {
		r.say(t, super, ann, "hi", sim.SayOptions{As: guise, Channel: &other})
		if m := next(t, events); !m.Sender.Anonymous || m.Sender.ID != id {
			t.Errorf("%s: %+v", guise, m.Sender)
		}
	}
	r.say(t, super, ann, "hi", sim.SayOptions{})
	if m := next(t, events); m.Sender.Anonymous || m.Sender.ID != "1001" {
		t.Errorf("a person came as %+v", m.Sender)
	}
}

func TestRow13_AnEditIsAnEventOfItsOwnKindAndTellsWhatTheMessageSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := listen(t, r.open(t))
	c := sim.PrivateChat(ann)
	for name, o := range map[string]sim.SayOptions{"a text": {}, "a caption": {Media: "photo"}} {
		said := r.say(t, c, ann, "one", o)
		a := next(t, events)
		seen := map[string]bool{a.Event: true}
		// The last one changes nothing, as when a link preview comes.
		for _, text := range []string{"two", "two"} {
			if _, err := r.Edit(c.ID, said.MessageID, text, o); err != nil {
				t.Fatal(err)
			}
			b := next(t, events)
			if b.Kind != channels.Edited || b.Text != text || b.MessageID != a.MessageID || b.Address != a.Address || b.Sender != a.Sender || seen[b.Event] {
				t.Errorf("%s: the edit of %+v came as %+v", name, a, b)
			}
			seen[b.Event] = true
		}
	}
}

func TestRow14_EveryPressIsAnsweredAlsoOnAnOldMessage(t *testing.T) {
	t.Parallel()
	t.Run("by polling", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		press(t, r, r.open(t))
	})
	t.Run("by webhook", func(t *testing.T) {
		t.Parallel()
		h := newHookRig(t, 1)
		press(t, h.fixture, h.open(t))
	})
}

func press(t *testing.T, r *fixture, ch *telegram.Channel) {
	t.Helper()
	events := listen(t, ch)
	r.Say(t, "Ann", "hi")
	m := next(t, events)
	receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "press"}})
	if err != nil {
		t.Fatal(err)
	}
	sent := r.Books().Messages[0]
	for _, o := range []sim.PressOptions{{}, {}, {Inaccessible: true}} {
		if _, err := r.Press(ann, ann.ID, sent.MessageID, "approve:1", o); err != nil {
			t.Fatal(err)
		}
		p := next(t, events)
		if p.Kind != channels.Pressed || p.Text != "approve:1" || p.MessageID != receipt.MessageID || p.Sender.ID != "1001" || p.Address != m.Address {
			t.Errorf("press %+v came as %+v", o, p)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := r.Await(ctx, func(b sim.Book) bool {
		n := 0
		for _, s := range b.Signals {
			if s.Kind == "callback_answer" {
				n++
			}
		}
		return n == 3
	}); err != nil {
		t.Errorf("not every press was answered: %v", err)
	}
}

func TestRow15_ABotThatWasPutOutIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	join(t, r, events, super)
	if _, err := r.Kick(super, ann, "Parley_bot"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership || !m.Closed || m.Text != "kicked" || m.Sender.ID != "1001" {
		t.Errorf("got %+v", m)
	}
	if _, err := ch.Send(t.Context(), to(super.ID, "", "hi")); wrong(err).Kind != channels.Gone {
		t.Errorf("send to a group we were put out of: %v", err)
	}
	r.Say(t, "Ann", "hi")
	next(t, events)
	if _, err := r.Block(ann, "Parley_bot"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership || !m.Closed || m.Address.Kind != sessionkeys.DM {
		t.Errorf("got %+v", m)
	}
	if _, err := ch.Send(t.Context(), to(ann.ID, "", "hi")); wrong(err).Kind != channels.Gone {
		t.Errorf("send to one who blocked us: %v", err)
	}
	// Whoever writes again has unblocked the bot.
	r.Say(t, "Ann", "sorry")
	if m := next(t, events); m.Kind != channels.Membership || m.Closed || m.Text != "member" {
		t.Errorf("got %+v", m)
	}
	if m := next(t, events); m.Text != "sorry" {
		t.Errorf("got %+v", m)
	}
	if _, err := ch.Send(t.Context(), to(ann.ID, "", "hi")); err != nil {
		t.Errorf("send to one who unblocked us: %v", err)
	}
	if _, err := r.SetStanding(super, ann, "Parley_bot", "restricted"); err != nil {
		t.Fatal(err)
	}
	if m := next(t, events); m.Kind != channels.Membership || !m.Closed {
		t.Errorf("got %+v", m)
	}
	if _, err := ch.Send(t.Context(), to(super.ID, "", "hi")); wrong(err).Kind != channels.Gone {
		t.Errorf("send to a group where we are muted: %v", err)
	}
}

// A chat whose event cannot be stored yet does not hold up the others, and
// nothing of the batch is confirmed before all of it is.
func TestChatsOfABatchDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, chat := range []int{1001, 1002, 1001} {
		raw := fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"private"},"from":{"id":%d},"text":"%d"}}`, i+1, chat, chat, i)
		if _, err := r.Inject("", json.RawMessage(raw)); err != nil {
			t.Fatal(err)
		}
	}
	stuck, came := make(chan struct{}), make(chan string, 9)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- r.open(t).Receive(ctx, func(ctx context.Context, m channels.Message) error {
			if m.Text == "0" {
				select {
				case <-stuck:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			came <- m.Text
			return nil
		})
	}()
	if got := <-came; got != "1" {
		t.Errorf("%s came while the first chat was stuck", got)
	}
	if n := r.Acknowledged(); n != 0 {
		t.Errorf("%d updates were confirmed", n)
	}
	close(stuck)
	if a, b := <-came, <-came; a != "0" || b != "2" {
		t.Errorf("the first chat's came as %s, %s", a, b)
	}
	if err := r.AwaitAcknowledged(t.Context(), 3); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
