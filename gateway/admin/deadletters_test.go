package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/intake"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/sessionkeys"
	"parley/simulators/telegram"
)

// stopped opens the message log of an environment whose gateway does not run.
func stopped(t *testing.T, h *gatewaytest.Env, do func(b *broker.Broker)) {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{Dir: filepath.Join(h.Config().StateDir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	do(b)
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// givenUp is the first message of Ann's as the dead letter that it would have
// become.
func givenUp(t *testing.T, b *broker.Broker) broker.DeadLetter {
	t.Helper()
	e, err := b.Next(t.Context(), annsKey(t).Token(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return broker.DeadLetter{ID: e.ID, Reason: "attempts", Channel: "tg", Key: e.Key, Problem: "taken up 3 times without an end", Body: e.Body, At: noon}
}

func annsKey(t *testing.T) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "4200000001", Kind: sessionkeys.DM, Peer: "1001"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func bury(t *testing.T, b *broker.Broker, ls ...broker.DeadLetter) {
	t.Helper()
	for _, l := range ls {
		if err := b.DeadLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

func listed(t *testing.T, ask *admin.Client) (ls []admin.DeadLetter) {
	t.Helper()
	if err := ask.DeadLetters().List(t.Context(), func(l admin.DeadLetter) bool { ls = append(ls, l); return true }); err != nil {
		t.Fatal(err)
	}
	return ls
}

// The message of a letter was known to the inbox, which would swallow it under
// its own name. And whoever dies between storing it and forgetting the letter
// finds the letter again.
func TestARedeliveredLetterIsAnsweredExactlyOnceWhateverCrashes(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "please")
	gw.Stop()
	var letter broker.DeadLetter
	stopped(t, env, func(b *broker.Broker) {
		letter = givenUp(t, b)
		bury(t, b, letter)
	})
	answers := func() (n int) {
		for _, text := range env.SentTexts(telegram.PrivateChat(gatewaytest.Ann)) {
			if text == "please" {
				n++
			}
		}
		return n
	}
	for crash := range 3 {
		gw = env.Start()
		ask := admin.NewClient(gw.AdminSocket())
		if ls := listed(t, ask); len(ls) != 1 || ls[0].ID != letter.ID || ls[0].Reason != "attempts" || ls[0].Key != annsKey(t).String() {
			t.Fatalf("letters: %+v", ls)
		}
		if st, err := ask.Status(t.Context()); err != nil || st.DeadLetters != 1 {
			t.Errorf("status: %+v, %v", st, err)
		}
		if _, err := ask.DeadLetters().Redeliver(t.Context(), letter.ID[:9], 0); err != nil {
			t.Fatal(err)
		}
		if crash == 0 {
			if d := gw.NextDelivered(); d.Chat != "1001" || d.Turn == "" {
				t.Errorf("answered was %+v", d)
			}
		}
		if ls := listed(t, ask); len(ls) != 0 {
			t.Errorf("the letter is still there: %+v", ls)
		}
		// What comes after it in the same conversation is answered after it.
		gw.Ask(gatewaytest.Ann, "and then")
		if n := answers(); n != 2 {
			t.Errorf("after %d crashes it was answered %d times, not once more", crash, n-1)
		}
		gw.Stop()
		stopped(t, env, func(b *broker.Broker) { bury(t, b, letter) }) // as if nobody had forgotten it
	}
}

func TestALetterThatIsGivenUpOnceMoreCanBeRedeliveredOnceMore(t *testing.T) {
	t.Parallel()
	in := &intake.Intake{Settings: intake.Settings{Sources: map[string]intake.Source{"tg": {Bound: policy.Bound{Agent: "main"}, Network: "telegram", Access: policy.Access{Everyone: true}}}}, Now: time.Now}
	m := channels.Message{Event: "1", Kind: channels.Said, Channel: "tg", Address: annsKey(t).Address(), Sender: channels.Sender{ID: "1001"}, MessageID: "7", Text: "hello"}
	seen := map[string]bool{}
	for id := "0123"; len(seen) < 5; {
		body, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, key, err := in.Reconstruct(t.Context(), broker.DeadLetter{ID: id, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		if seen[again.Event] || key != annsKey(t) || again.Address != m.Address || again.MessageID != "7" || again.Text != "hello" {
			t.Errorf("again: %+v", again)
		}
		seen[again.Event] = true
		named, ok := messages.ParseID(again.Event)
		if !ok || named != (messages.ID{Kind: messages.Redelivered, About: id}) {
			t.Errorf("the letter %q becomes the event %q", id, again.Event)
		}
		m, id = again, id+"x" // stands for the hash of the event
	}
}

func TestWhatCannotBeRedeliveredIsRefusedAndStays(t *testing.T) {
	t.Parallel()
	only := policy.Access{People: []string{"1001"}}
	env := gatewaytest.Open(t, gatewaytest.Options{Change: func(c *settings.Config) {
		tg := c.Channels.Telegram["tg"]
		tg.Access = only
		c.Channels.Telegram = map[string]settings.TelegramConfig{"tg": tg}
	}})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "a canary-text")
	gw.Stop()
	words := map[string]string{ // by id: why not
		"a0": "message refused: the sender is not in access.people",
		"a1": `message of the channel "old", which is no longer configured`,
		"a2": "message unreadable when it arrived, so parley cannot give it to the bot",
		"a3": "message unreadable when it arrived",
		"a4": "message is the command /stop, which would mean something else now",
		"a5": "message without text or files to answer",
		"a6": "message without a valid conversation key",
		"a7": "at most 32768 are read",
	}
	stopped(t, env, func(b *broker.Broker) {
		good := givenUp(t, b)
		change := func(id string, f func(*channels.Message)) {
			var m channels.Message
			if err := json.Unmarshal(good.Body, &m); err != nil {
				t.Fatal(err)
			}
			f(&m)
			l := good
			l.ID = id
			l.Body, _ = json.Marshal(m)
			bury(t, b, l)
		}
		change("a0", func(m *channels.Message) { m.Sender.ID = "1002" })
		change("a1", func(m *channels.Message) { m.Channel = "old" })
		bury(t, b, broker.DeadLetter{ID: "a2", Reason: "unreadable", Channel: "tg", Body: json.RawMessage(`{"update_id":7,"message":{"text":"canary-text"}}`), At: noon})
		bury(t, b, broker.DeadLetter{ID: "a3", Reason: "unreadable", Channel: "tg", Body: json.RawMessage(`{"cut`), At: noon})
		change("a4", func(m *channels.Message) { m.Text = "/stop" })
		change("a5", func(m *channels.Message) { m.Kind = channels.Membership })
		change("a6", func(m *channels.Message) { m.Address.Account = "" })
		change("a7", func(m *channels.Message) { m.Text = strings.Repeat("x", messages.MaxText+1) })
		change("\x1b[2J a stranger's", func(*channels.Message) {})
	})
	gw = env.Start()
	ask := admin.NewClient(gw.AdminSocket())
	ls := listed(t, ask)
	if len(ls) != len(words)+1 || ls[8].ID != "place-9" {
		t.Fatalf("letters: %+v", ls)
	}
	for _, l := range ls[:8] {
		_, err := ask.DeadLetters().Redeliver(t.Context(), l.ID, l.Place)
		e, ok := errors.AsType[*admin.Error](err)
		if !ok || e.Kind != admin.Refused || !strings.Contains(e.Message, words[l.ID]) {
			t.Errorf("%s: %v", l.ID, err)
		}
		d, err := ask.DeadLetters().Show(t.Context(), l.ID, false)
		if text, _ := json.Marshal(d); err != nil || !strings.Contains(d.Refused, words[l.ID]) || strings.Contains(string(text), "canary") {
			t.Errorf("%s is shown as %s, %v", l.ID, text, err)
		}
	}
	if got := listed(t, ask); len(got) != len(ls) {
		t.Errorf("%d letters of %d are left", len(got), len(ls))
	}
	if d, err := ask.DeadLetters().Show(t.Context(), "a2", true); err != nil || !strings.Contains(d.Body, "canary-text") {
		t.Errorf("the body that was asked for: %+v, %v", d, err)
	}
	// A letter of no proper name goes by its place, here to be dropped; a wrong
	// place is not taken for another letter.
	for _, ask1 := range []func() error{
		func() error { _, err := ask.DeadLetters().Drop(t.Context(), "a0", 2); return err },
		func() error { _, err := ask.DeadLetters().Drop(t.Context(), "place-99", 0); return err },
		func() error { _, err := ask.DeadLetters().Drop(t.Context(), "b", 0); return err },
	} {
		if e, ok := errors.AsType[*admin.Error](ask1()); !ok || e.Kind != admin.NotFound {
			t.Errorf("dropped: %v", e)
		}
	}
	if _, err := ask.DeadLetters().Drop(t.Context(), "a", 0); err == nil || !strings.Contains(err.Error(), "several dead letters begin with a: a0, a1, a2, a3, a4 and others") {
		t.Errorf("a: %v", err)
	}
	for _, id := range []string{"place-9", "a0"} {
		if l, err := ask.DeadLetters().Drop(t.Context(), id, 0); err != nil || l.ID != id {
			t.Errorf("%s: %+v, %v", id, l, err)
		}
	}
	if got := listed(t, ask); len(got) != 7 {
		t.Errorf("%d letters are left", len(got))
	}
	if sent := env.SentTexts(telegram.PrivateChat(gatewaytest.Ann)); len(sent) != 1 {
		t.Errorf("something was answered: %q", sent)
	}
}
