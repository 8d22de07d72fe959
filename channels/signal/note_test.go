package signal_test

import (
	"slices"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// firstday G7. A further device of somebody's own account: what they write to themselves
// is the conversation, and nothing else is read.
func TestNotesToOneselfAreAConversationIfTheOperatorWantsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, func(o *signal.Options) { o.NoteToSelf, o.ReadReceipts, o.ACI = true, true, "" })
	got := take(t, ch, nil)
	do := did(t)
	// What is for the person, or by them for others.
	r.say(t, sim.Chat{}, ann, "for the person", sim.SayOptions{})
	r.say(t, team, ann, "@us hello", sim.SayOptions{Mentions: []sim.Mention{{Name: "@us", ACI: ourACI}}})
	do(r.Synced(number, sim.Sync{Text: "to ann", To: ann.ACI}))
	do(r.Synced(number, sim.Sync{Text: "to the team", Group: team.Group}))
	do(r.Synced(number, sim.Sync{}))
	do(r.Echo(number, "an echo"))
	note := do(r.Synced(number, sim.Sync{Text: "to myself"}))
	m := got.next()
	if m.Kind != channels.Said || m.Text != "to myself" || !m.Mentioned || m.Sender.ID != ourACI || m.Sender.Alias != number || m.Address != direct(sim.Person{ACI: ourACI}) {
		t.Fatalf("a note came as %+v", m)
	}
	do(r.Synced(number, sim.Sync{Text: "to myself, again", Edit: note.Timestamp}))
	if e := got.next(); e.Kind != channels.Edited || e.Text != "to myself, again" || e.MessageID != m.MessageID {
		t.Errorf("its edit came as %+v", e)
	}
	if err := ch.ShowTyping(t.Context(), m.Address); err != nil {
		t.Error(err)
	}
	receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, ReplyTo: m.MessageID, Body: channels.Body{Text: "an answer"}})
	if err != nil || receipt.MessageID == "" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	b := r.Books()
	if sent := b.Messages[0]; len(b.Messages) != 1 || sent.Chat != ourACI || sent.Quote == nil || sent.Quote.Timestamp != note.Timestamp {
		t.Errorf("the answer is %+v", b.Messages)
	}
	if slices.ContainsFunc(b.Calls, func(c sim.CallEntry) bool { return c.Method == "sendTyping" || c.Method == "sendReceipt" }) {
		t.Error("somebody is shown that they write, or read, to themselves")
	}
	noError(t, r.AwaitAcknowledged(t.Context(), 8))
	if len(got.events) > 0 {
		t.Errorf("beside it came %+v", <-got.events)
	}
}
