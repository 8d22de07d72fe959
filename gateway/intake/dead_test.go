package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/broker"
	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/policy"
	"parley/sessionkeys"
)

func TestWhatCannotBeReadIsBuriedWhole(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"update_id":1,"x":[]}`, "not JSON \xff\x00", `{"cut":`, ""} {
		var w world
		m := channels.Message{Kind: channels.Unreadable, Channel: "tg", Event: "9", Raw: json.RawMessage(raw), Problem: "no idea"}
		if err := w.intake(policy.Access{}).Accept(t.Context(), m); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		d := w.dead[0]
		if raw != "" && string(d.Body) != raw || d.Reason != "unreadable" || d.Problem != "no idea" || d.Channel != "tg" || d.ID == "" {
			t.Errorf("%q: buried %+v", raw, d)
		}
	}
	var long world
	m := channels.Message{Kind: channels.Unreadable, Channel: "tg", Event: "9", Problem: strings.Repeat("x", 64<<10)}
	if err := long.intake(policy.Access{}).Accept(t.Context(), m); err != nil || len(long.dead[0].Problem) > 4<<10 {
		t.Errorf("%v: the problem has %d bytes", err, len(long.dead[0].Problem))
	}
	// Two that have no id at all are two.
	var w world
	in := w.intake(policy.Access{})
	for _, raw := range []string{"a", "b"} {
		noError(t, in.Accept(t.Context(), channels.Message{Kind: channels.Unreadable, Channel: "tg", Raw: json.RawMessage(raw)}))
	}
	if w.dead[0].ID == w.dead[1].ID {
		t.Error("two events without an id have the same one")
	}
}

// abuse H1: authorised before anything is stored, and what finds no room holds up
// nobody.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	event := func(s channels.Sender) channels.Message {
		return channels.Message{Kind: channels.Unreadable, Channel: "tg", Event: "9", Raw: json.RawMessage("{}"), Sender: s}
	}
	for name, c := range map[string]struct {
		access policy.Access
		sender channels.Sender
		kept   bool
	}{
		"of somebody who is listed":             {policy.Access{People: []string{"7"}}, channels.Sender{ID: "7"}, true},
		"of somebody listed by their other id":  {policy.Access{People: []string{"+49"}}, channels.Sender{ID: "7", Alias: "+49"}, true},
		"of nobody that it names":               {policy.Access{People: []string{"7"}}, channels.Sender{}, true},
		"of somebody where everybody may speak": {policy.Access{Everyone: true}, channels.Sender{ID: "8"}, true},
		"of somebody who is not listed":         {policy.Access{People: []string{"7"}}, channels.Sender{ID: "8"}, false},
		"of a bot":                              {policy.Access{Everyone: true}, channels.Sender{ID: "8", Bot: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w world
			noError(t, w.intake(c.access).Accept(t.Context(), event(c.sender)))
			if kept := len(w.dead) == 1; kept != c.kept || kept && !w.dead[0].Event {
				t.Errorf("kept %+v", w.dead)
			}
			if refused := w.counts["ignored tg not_allowed"] == 1; refused == c.kept {
				t.Errorf("counted %v", w.counts)
			}
		})
	}
	t.Run("for which there is no room", func(t *testing.T) {
		t.Parallel()
		w := world{full: true}
		if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), event(channels.Sender{})); err != nil {
			t.Errorf("it comes again: %v", err)
		}
		if w.counts["ignored tg no_room"] != 1 {
			t.Errorf("counted %v", w.counts)
		}
	})
	t.Run("a change of a chat of strangers with a name that cannot be used", func(t *testing.T) {
		t.Parallel()
		var w world
		m := dm(ann, "")
		m.Kind, m.Address.Kind, m.Address.Peer = channels.Membership, sessionkeys.Group, "-5\xff"
		if err := w.intake(policy.Access{People: []string{ann}}).Accept(t.Context(), m); err != nil || len(w.dead) > 0 {
			t.Errorf("%v, kept %+v", err, w.dead)
		}
	})
}

func TestAnUnreadableEventThatIsNotJSONIsKeptByTheRealLog(t *testing.T) {
	t.Parallel()
	b, err := broker.Open(t.Context(), broker.Options{Dir: t.TempDir(), MaxBody: 64 << 10, MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var w world
	in := w.intake(policy.Access{Everyone: true})
	in.Log = b
	accept := func(m channels.Message) {
		t.Helper()
		noError(t, in.Accept(t.Context(), m))
	}
	raw := "<html>\xff"
	accept(channels.Message{Kind: channels.Unreadable, Channel: "tg", Event: "9", Raw: json.RawMessage(raw)})
	// Raw that is no JSON in an ordinary message must not break anything.
	m := dm(ann, "hi")
	m.Raw = json.RawMessage("{")
	accept(m)
	// What no dead letter holds is cut, and not offered for ever.
	accept(channels.Message{Kind: channels.Unreadable, Channel: "tg", Event: "10", Raw: json.RawMessage(strings.Repeat("x", 300<<10))})
	letters, err := b.DeadLetters(t.Context(), 0, 10)
	if err != nil || len(letters) != 3 {
		t.Fatalf("%d letters, %v", len(letters), err)
	}
	var text string
	if err := json.Unmarshal(letters[0].Body, &text); err != nil || !strings.HasPrefix(text, "<html>") {
		t.Errorf("kept %q, %v", letters[0].Body, err)
	}
	if letters[1].Reason != "encoding" || letters[2].Reason != "unreadable" || !strings.Contains(letters[2].Problem, "of 307200 bytes") {
		t.Errorf("kept %.200v and %.200v", letters[1], letters[2])
	}
}

func TestAMessageTooLargeForTheLogIsADeadLetter(t *testing.T) {
	t.Parallel()
	w := world{limit: 300 << 10}
	m := dm(ann, "hi")
	m.Attachments = []channels.Attachment{{Name: strings.Repeat("n", 512<<10)}}
	noError(t, w.intake(policy.Access{Everyone: true}).Accept(t.Context(), m))
	if len(w.dead) != 1 || w.dead[0].Reason != "too_large" || w.counts["dead tg too_large"] != 1 || len(w.published) != 0 {
		t.Errorf("%v, %v", w.counts, len(w.dead))
	}
}

// A network is known by the account's row in the table of networks, and not by what an
// adapter writes into an address.
func TestAnAddressOfAnotherNetworkIsBuried(t *testing.T) {
	t.Parallel()
	for _, kind := range []channels.EventKind{channels.Said, channels.Edited, channels.Membership, channels.Migrated} {
		var w world
		m := dm(ann, "hello")
		m.Kind, m.MovedTo, m.Address.Channel = kind, "7", "irc"
		in := w.intake(policy.Access{Everyone: true})
		noError(t, in.Accept(t.Context(), m))
		if len(w.dead) != 1 || w.dead[0].Reason != "address" || !strings.Contains(w.dead[0].Problem, `"irc", and the bot account of "telegram"`) || w.trace() != 0 {
			t.Fatalf("%s: buried %+v, left %d", kind, w.dead, w.trace())
		}
		var refused *intake.RefusedError
		if err := in.Redeliver(t.Context(), w.dead[0]); kind == channels.Said && (!errors.As(err, &refused) || !strings.Contains(refused.Why, `"irc"`)) {
			t.Errorf("%s: given again: %v", kind, err)
		}
	}
}
