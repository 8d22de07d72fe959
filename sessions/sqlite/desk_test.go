package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/transcript"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// price is copied into each entry.
var price = costs.Price{
	Provider: "maker", Model: "model-1", Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite5m: 3_750_000, CacheWrite1h: 6_000_000,
	Tiers:       []costs.ContextTier{{Above: 200_000, Input: 6_000_000, Output: 22_500_000, CacheRead: 600_000, CacheWrite5m: 7_500_000, CacheWrite1h: 12_000_000}},
	Multipliers: map[string]costs.Fraction{"tier:batch": {Num: 1, Den: 2}, "geo:us": {Num: 11, Den: 10}},
	ServerTools: map[string]costs.Amount{"web_search": 10_000_000_000}, Source: "the maker's list of prices", Date: "2026-03-01",
}

// desk is one conversation that a worker answers.
type desk struct {
	tb  testing.TB
	s   *sqlite.Store
	w   sessions.Worker
	key sessionkeys.Key
}

func newDesk(tb testing.TB, s *sqlite.Store, worker string) *desk {
	tb.Helper()
	return deskAt(tb, s, worker, "chat")
}

func deskAt(tb testing.TB, s *sqlite.Store, worker, peer string) *desk {
	tb.Helper()
	k, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: peer})
	if err != nil {
		tb.Fatal(err)
	}
	d := &desk{tb: tb, s: s, w: sessions.Worker{Name: worker, Nonce: worker + "-1"}, key: k}
	d.ok(s.Heartbeat(tb.Context(), d.w, noon.Add(time.Hour)))
	return d
}

func (d *desk) ok(err error) {
	d.tb.Helper()
	if err != nil {
		d.tb.Fatal(err)
	}
}

func (d *desk) session() sessionkeys.SessionID {
	d.tb.Helper()
	m, err := d.s.Mailbox(d.tb.Context(), d.key.Token())
	d.ok(err)
	return m.Session
}

func (d *desk) path(s *sqlite.Store) string { return s.Path() }

// turn answers message i+1 in a whole turn with one model call.
func (d *desk) turn(i int) {
	d.tb.Helper()
	d.named(fmt.Sprint("turn-", i), uint64(i)+1)
}

// named is a whole turn with one model call, as workers write it: taken and opened
// together with the reservation, finished with the settlement and the begin of the
// delivery, and the end of that.
func (d *desk) named(id string, seq uint64) {
	d.tb.Helper()
	ctx := d.tb.Context()
	type taken struct {
		m   sessions.Mailbox
		err error
	}
	early, done := make(chan sessions.Mailbox, 1), make(chan taken, 1)
	go func() {
		m, _, err := d.s.Touch(ctx, sessions.Touch{
			Token: d.key.Token(), Key: d.key, Seq: seq, By: d.w, Take: true, Now: noon, Taken: func(m sessions.Mailbox) { early <- m },
		})
		done <- taken{m, err}
	}()
	var m sessions.Mailbox
	durable := false
	select {
	case m = <-early:
	case t := <-done:
		d.ok(t.err)
		m, durable = t.m, true
	}
	labels := costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.RootTurn}
	r := costs.Reservation{ID: id + "/1/1", At: noon, Estimate: costs.Estimate{
		Call: costs.CallID{Turn: id, Step: 1, Attempt: 1, Purpose: costs.RootTurn}, Labels: labels, Upper: 100, Priced: true,
	}}
	scopes := []sessions.Scope{{Kind: "global"}, {Kind: "chat", ID: m.Token}, {Kind: "person", ID: "u1"}}
	t, opened, err := d.s.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: id, Seq: seq, Channel: "tg", From: d.key.Address(), ReplyTo: "m1", Sender: "u1", ReceivedAt: noon, OpenedAt: noon},
		Events:  []sessions.InboxID{{Channel: "telegram", Account: "bot", Chat: d.key.Token(), Event: id}},
		Message: transcript.Message{ID: id + "-said", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "hello"}}, CreatedAt: noon},
		Call:    &sessions.OpeningCall{Charge: sessions.Charge{Session: m.Session, Turn: id, Scopes: scopes}, Reservation: r},
	})
	d.ok(err)
	if !opened {
		d.tb.Fatal("not opened")
	}
	if !durable {
		d.ok((<-done).err)
	}
	end, err := d.s.Finish(ctx, m.Fence(), sessions.FinishTurn{
		Turn: id, Outcome: transcript.EndTurn, At: noon,
		Settlement: &costs.Settlement{Reservation: r, Entry: costs.Entry{ID: r.ID, Call: r.Estimate.Call, Labels: labels, Price: &price, Amount: 40, Priced: true, State: costs.Settled, Outcome: "ok", At: noon}},
		Messages:   []transcript.Message{{ID: id + "-answer", Role: transcript.Assistant, Model: "model-1", Parts: []transcript.Part{transcript.Text{Text: "hello yourself"}}, CreatedAt: noon}},
		Replies:    []sessions.Outgoing{{ID: id + "-reply", Channel: "tg", Session: t.Session, Turn: id, To: d.key.Address(), Text: "hello yourself", At: noon}},
		Sending:    &sessions.Progress{Bodies: [][]byte{[]byte(`{"text":"hello yourself"}`)}, Marks: []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: noon}}},
	})
	d.ok(err)
	if !end.Sending {
		d.tb.Fatal("the delivery did not begin with the end of the turn")
	}
	d.ok(d.s.Advance(ctx, id+"-reply", sessions.Progress{Marks: []sessions.Mark{{From: sessions.Sending, To: sessions.Sent, MessageID: "n-" + id, At: noon}}}))
}
