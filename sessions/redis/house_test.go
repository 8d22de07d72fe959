package redis_test

import (
	"errors"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// fixture is a store and the steps of cases over it. Its steps end the test when
// they fail.
type fixture struct {
	t testing.TB
	s sessions.Store
}

func (h fixture) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h fixture) is(err, want error) {
	h.t.Helper()
	if !errors.Is(err, want) {
		h.t.Fatalf("got error %v, want %v", err, want)
	}
}

func place(peer string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.Group, Peer: peer}
}

func (h fixture) key(peer string) sessionkeys.Key {
	h.t.Helper()
	k, err := sessionkeys.For("helper", place(peer))
	h.ok(err)
	return k
}

func (h fixture) alive(name string) sessions.Worker {
	h.t.Helper()
	w := sessions.Worker{Name: name, Nonce: name + "-1"}
	h.ok(h.s.Heartbeat(h.t.Context(), w, noon.Add(time.Hour)))
	return w
}

func (h fixture) try(w sessions.Worker, peer string, seq uint64) (sessions.Mailbox, bool) {
	h.t.Helper()
	k := h.key(peer)
	m, got, err := h.s.Touch(h.t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: seq, By: w, Take: true, Now: noon})
	h.ok(err)
	return m, got
}

func (h fixture) take(w sessions.Worker, peer string, seq uint64) sessions.Mailbox {
	h.t.Helper()
	m, got := h.try(w, peer, seq)
	if !got {
		h.t.Fatalf("%s did not get %s: %+v", w.Name, peer, m)
	}
	return m
}

func event(id string) sessions.InboxID {
	return sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "chat", Event: id}
}

func said(id string) transcript.Message {
	return transcript.Message{ID: id, Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: id}}, CreatedAt: noon}
}

func (h fixture) open(m sessions.Mailbox, seq uint64) sessions.Turn {
	h.t.Helper()
	id := "turn-" + m.Key.Address().Peer
	t, opened, err := h.s.Open(h.t.Context(), m.Fence(), sessions.OpenTurn{
		Turn: sessions.Turn{
			ID: id, Seq: seq, Channel: "tg", From: m.Key.Address(), Sender: "ann", ReceivedAt: noon, OpenedAt: noon,
		},
		Events: []sessions.InboxID{event(id)}, Message: said(id + "-said"),
	})
	h.ok(err)
	if !opened {
		h.t.Fatalf("turn %s was not opened", id)
	}
	return t
}

func answerTo(t sessions.Turn, by string) sessions.Outgoing {
	return sessions.Outgoing{ID: t.ID + "-by-" + by, Channel: "tg", Session: t.Session, Turn: t.ID, To: t.From, Text: "so it is", At: noon}
}

func ending(t sessions.Turn, by string) sessions.FinishTurn {
	return sessions.FinishTurn{
		Turn: t.ID, Outcome: transcript.EndTurn, At: noon, Messages: []transcript.Message{said(t.ID + "-answer-" + by)},
		Replies: []sessions.Outgoing{answerTo(t, by)},
	}
}

func reservation(t sessions.Turn, step int, upper costs.Amount) costs.Reservation {
	c := costs.CallID{Turn: t.ID, Step: step, Attempt: 1, Purpose: costs.RootTurn}
	return costs.Reservation{ID: c.String(), At: noon, Estimate: costs.Estimate{
		Call: c, Upper: upper, Priced: true, Labels: costs.Labels{Provider: "maker", Model: "m", Channel: "tg", Purpose: costs.RootTurn},
	}}
}

func cost(r costs.Reservation, amount costs.Amount) costs.Settlement {
	return costs.Settlement{Reservation: r, Entry: costs.Entry{
		ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Amount: amount, Priced: true, State: costs.Settled,
		Usage: costs.Usage{Input: 10, Output: 3, Source: costs.Reported}, Outcome: "ok", At: noon,
	}}
}
