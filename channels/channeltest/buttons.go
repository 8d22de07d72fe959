package channeltest

import (
	"slices"
	"testing"

	"parley/channels"
)

// ButtonHarness is a network whose messages can have buttons.
type ButtonHarness interface {
	Harness

	// Buttons returns what the buttons say that the message has at present.
	Buttons(t testing.TB, messageID string) []string
	// PressButton lets the person press the button of the message that says so.
	PressButton(t testing.TB, messageID, says string)
}

// testButtons checks that a press comes in as an event with the button's text and the sender who
// pressed it, also under a message that was edited, and that an edit without choices takes the
// buttons away.
func testButtons(t *testing.T, rig Harness) {
	h, ok := rig.(ButtonHarness)
	if !ok {
		t.Fatal("the rig has no buttons")
	}
	ch := rig.Open(t)
	r := startReceive(t, ch, nil)
	defer r.stop()
	rig.Say(t, "Ann", "hello")
	m := r.next()
	choices := []channels.Choice{{Label: "Permit once", Says: "/approve 7K3MD"}, {Label: "Refuse", Says: "/deny 7K3MD"}}
	says := []string{"/approve 7K3MD", "/deny 7K3MD"}
	press := func(id string) {
		t.Helper()
		if got := h.Buttons(t, id); !slices.Equal(got, says) {
			t.Fatalf("the message has the buttons %q", got)
		}
		for _, text := range says {
			h.PressButton(t, id, text)
			p := r.next()
			if p.Kind != channels.Pressed || p.Text != text || p.MessageID != id || p.Sender.ID != m.Sender.ID || p.Address != m.Address || !p.Mentioned {
				t.Errorf("pressing %q gives %+v", text, p)
			}
		}
	}
	send := func(cs []channels.Choice) string {
		t.Helper()
		b := ch.Render("May **I**?")[0]
		b.Choices = cs
		receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.MessageID
	}
	press(send(choices))
	editor, ok := ch.(channels.Editor)
	if !ok {
		return
	}
	id := send(nil)
	if got := h.Buttons(t, id); len(got) != 0 {
		t.Errorf("a message without choices has the buttons %q", got)
	}
	edit := func(cs []channels.Choice) {
		t.Helper()
		b := ch.Render("May I, **please**?")[0]
		b.Choices = cs
		if err := editor.Edit(t.Context(), m.Address, id, b); err != nil {
			t.Fatal(err)
		}
	}
	edit(choices)
	press(id)
	edit(nil)
	if got := h.Buttons(t, id); len(got) != 0 {
		t.Errorf("the edit left the buttons %q", got)
	}
}
