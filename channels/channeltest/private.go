package channeltest

import (
	"context"
	"slices"
	"testing"

	"parley/channels"
)

// PrivateHarness is a network that shows messages to one person of a chat alone; see
// [channels.PrivateReplyToPerson].
type PrivateHarness interface {
	ButtonHarness

	// SayInGroup is Say in a chat of several people.
	SayInGroup(t testing.TB, name, text string)
	// SeenBy returns the id of the only person who sees a message; "": everybody in the chat does.
	SeenBy(t testing.TB, messageID string) string
	// AwaitNoButtons waits until a message has no buttons.
	AwaitNoButtons(ctx context.Context, messageID string) error
}

// testPrivate checks a message for one person in a group: that person alone sees it; a press of its
// buttons is an event of the conversation like any other; the answer to the press is shown to that
// person alone, too; then the buttons are gone; and the group sees every other message.
func testPrivate(t *testing.T, rig Harness) {
	h, ok := rig.(PrivateHarness)
	if !ok {
		t.Fatal("the rig shows nothing to one person alone")
	}
	ch := rig.Open(t)
	r := startReceive(t, ch, nil)
	defer r.stop()
	h.SayInGroup(t, "Ann", "hello")
	m := r.next()
	for m.Kind != channels.Said { // that the bot may do so is an event, too
		m = r.next()
	}
	send := func(replyTo, text string, cs ...channels.Choice) string {
		t.Helper()
		b := ch.Render(text)[0]
		b.Choices = cs
		receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, ReplyTo: replyTo, Body: b, ID: text})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.MessageID
	}
	if by := h.SeenBy(t, send(m.MessageID, "I **ask**.")); by != "" {
		t.Errorf("an answer is seen by %s alone", by)
	}
	choices := []channels.Choice{{Label: "Permit <once>", Says: "/approve 7K3MD"}, {Label: "Refuse", Says: "/deny 7K3MD"}}
	id := send(channels.PrivateReplyToPerson(m.Sender.ID), "May **I**?", choices...)
	if by := h.SeenBy(t, id); by != m.Sender.ID {
		t.Errorf("a private message is seen by %q", by)
	}
	if got := h.Buttons(t, id); !slices.Equal(got, []string{"/approve 7K3MD", "/deny 7K3MD"}) {
		t.Fatalf("the private message has the buttons %q", got)
	}
	h.PressButton(t, id, "/deny 7K3MD")
	p := r.next()
	if p.Kind != channels.Pressed || p.Text != "/deny 7K3MD" || p.Sender.ID != m.Sender.ID || p.Address != m.Address || !p.Mentioned {
		t.Errorf("pressing gives %+v", p)
	}
	if by := h.SeenBy(t, send(p.MessageID, "Too **late**.")); by != m.Sender.ID {
		t.Errorf("the answer to the press is seen by %q", by)
	}
	if err := h.AwaitNoButtons(t.Context(), id); err != nil {
		t.Errorf("the pressed buttons stay: %v", err)
	}
}
