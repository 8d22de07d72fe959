package intake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/policy"
	"parley/sessionkeys"
)

func TestHostileIDsNeverPanicAndNeverReachAnotherMailbox(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", 64<<10)
	hostile := []string{
		"", "x", "1001:thread:5", "a:b", "a%3Ab", "*", ">", "in.v1.*", "a.b", "../../etc", "\x00", "\r\nNats-Rollup: all", "\u202e",
		"\xff", "\xfe", "\xff\xfe", "\ufffd", " ", "1001 ", long, long + "B", strings.Repeat(":", 255), strings.Repeat("\xff", 64<<10),
	}
	fields := map[string]func(*channels.Message, string){
		"event":   func(m *channels.Message, s string) { m.Event = s },
		"network": func(m *channels.Message, s string) { m.Address.Channel = s },
		"account": func(m *channels.Message, s string) { m.Address.Account = s },
		"kind":    func(m *channels.Message, s string) { m.Address.Kind = sessionkeys.Kind(s) },
		"peer":    func(m *channels.Message, s string) { m.Address.Peer = s },
		"thread":  func(m *channels.Message, s string) { m.Address.Thread = s },
		"sender":  func(m *channels.Message, s string) { m.Sender.ID = s },
		"name":    func(m *channels.Message, s string) { m.Sender.Name = s },
		"message": func(m *channels.Message, s string) { m.MessageID = s },
		"quote":   func(m *channels.Message, s string) { m.ReplyTo = &channels.Quote{MessageID: s, Text: s} },
		"file":    func(m *channels.Message, s string) { m.Attachments = []channels.Attachment{{Kind: s, Name: s, Ref: s}} },
		"moved":   func(m *channels.Message, s string) { m.MovedTo = s },
		"problem": func(m *channels.Message, s string) { m.Problem = s },
		"raw":     func(m *channels.Message, s string) { m.Raw = json.RawMessage(s) },
	}
	for name, set := range fields {
		places := map[string]string{} // token: the address that has it
		for _, text := range []string{"hi", "/stop", "/status"} {
			for _, s := range hostile {
				var w world
				m := group(ann, text)
				m.Mentioned = true
				set(&m, s)
				if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), m); err != nil {
					t.Errorf("%s %.20q: %v", name, s, err)
				}
				for _, e := range w.published {
					var back channels.Message
					if err := json.Unmarshal(e.Body, &back); err != nil || back.Address != m.Address || back.Event != m.Event || back.Sender.ID != m.Sender.ID {
						t.Errorf("%s %.20q: published %+v, %v", name, s, back, err)
					}
					k, err := sessionkeys.Parse(e.Key)
					if err != nil || k.Address() != m.Address || k.Token() != e.Token {
						t.Errorf("%s %.20q: key %.80s, %v", name, s, e.Key, err)
					}
					where := fmt.Sprintf("%q", m.Address)
					if was, ok := places[e.Token]; ok && was != where {
						t.Errorf("%s: %s and %s share a mailbox", name, was, where)
					}
					places[e.Token] = where
				}
				for _, d := range w.dead {
					if len(d.Problem) > 4<<10 || len(d.Key) > 4<<10 {
						t.Errorf("%s: a dead letter's words have %d and %d bytes", name, len(d.Problem), len(d.Key))
					}
				}
			}
		}
	}
}

func TestEachEventHasAWordOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	var w world
	in := w.intake(policy.Access{Everyone: true})
	in.Sources["tg2"] = in.Sources["tg"]
	for _, m := range []struct{ channel, account, peer, event string }{
		{"tg", "1", "3", "131"},
		{"tg", "1", "31", "31"},
		{"tg", "13", "1", "31"},
		{"tg2", "1", "3", "131"},
		{"tg", "1", "4", "131"},
		{"tg", "1", "3", `131","`},
		{"tg", "1", `3","131`, ""},
		{"tg", "1", "3", "1\ufffd"},
	} {
		x := dm(ann, "hi")
		x.Channel, x.Address.Account, x.Address.Peer, x.Event = m.channel, m.account, m.peer, m.event
		n, d := len(w.published), len(w.dead)
		noError(t, in.Accept(t.Context(), x))
		id := ""
		switch {
		case len(w.published) > n:
			id = w.published[n].ID
		case len(w.dead) > d:
			id = w.dead[d].ID
		}
		where := fmt.Sprintf("%q", m)
		if was, ok := seen[id]; ok || id == "" {
			t.Errorf("%s and %s have the id %q", was, where, id)
		}
		seen[id] = where
		if err := in.Accept(t.Context(), x); err != nil || len(w.published) > n && w.published[len(w.published)-1].ID != id {
			t.Errorf("%s: the same event again has another id", where)
		}
	}
}
