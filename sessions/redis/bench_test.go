package redis_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/redis/redistest"
	"parley/transcript"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// syncs are how often the server's log is made durable.
var syncs = []string{"everysec", "always"}

func serverThatSyncs(b *testing.B, how string) *shared {
	b.Helper()
	return &shared{server: redistest.Start(b, redistest.Options{Args: []string{"--appendfsync", how}})}
}

// desk is one conversation that a worker answers.
type desk struct {
	tb  testing.TB
	s   sessions.Store
	w   sessions.Worker
	key sessionkeys.Key
	seq uint64
}

func newDesk(tb testing.TB, s sessions.Store, peer string) *desk {
	tb.Helper()
	k, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: peer})
	if err != nil {
		tb.Fatal(err)
	}
	d := &desk{tb: tb, s: s, w: sessions.Worker{Name: "ann", Nonce: "ann-1"}, key: k}
	d.ok(s.Heartbeat(tb.Context(), d.w, noon.Add(time.Hour)))
	return d
}

func (d *desk) ok(err error) {
	d.tb.Helper()
	if err != nil {
		d.tb.Fatal(err)
	}
}

// open takes the next message up.
func (d *desk) open(id string) (sessions.Fence, sessions.Turn) {
	d.tb.Helper()
	ctx := d.tb.Context()
	d.seq++
	m, _, err := d.s.Touch(ctx, sessions.Touch{Token: d.key.Token(), Key: d.key, Seq: d.seq, By: d.w, Take: true, Now: noon})
	d.ok(err)
	t, opened, err := d.s.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: id, Seq: d.seq, Channel: "tg", From: d.key.Address(), ReplyTo: "m1", Sender: "u1", ReceivedAt: noon, OpenedAt: noon},
		Events:  []sessions.InboxID{{Channel: "telegram", Account: "bot", Chat: m.Token, Event: id}},
		Message: transcript.Message{ID: id + "-said", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "hello"}}, CreatedAt: noon},
	})
	d.ok(err)
	if !opened {
		d.tb.Fatal("not opened")
	}
	return m.Fence(), t
}

// call is one attempt of a turn that costs at most upper.
func call(turn string, step int, upper costs.Amount) costs.Reservation {
	c := costs.CallID{Turn: turn, Step: step, Attempt: 1, Purpose: costs.RootTurn}
	return costs.Reservation{ID: c.String(), At: noon, Estimate: costs.Estimate{
		Call: c, Labels: costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.RootTurn}, Upper: upper, Priced: true,
	}}
}

var price = costs.Price{Provider: "maker", Model: "model-1", Input: 3_000_000, Output: 15_000_000, Source: "a list", Date: "2026-03-01"}

func settled(r costs.Reservation, amount costs.Amount) costs.Settlement {
	return costs.Settlement{Reservation: r, Entry: costs.Entry{
		ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Usage: costs.Usage{Input: 1000, Output: 100, Source: costs.Reported},
		Price: &price, Amount: amount, Priced: true, State: costs.Settled, Outcome: "ok", At: r.At,
	}}
}

// turn is a whole turn with one model call: touch, open, reserve, finish with the
// settlement and the begin of the delivery, and the end of that.
func (d *desk) turn(id string) {
	d.tb.Helper()
	ctx := d.tb.Context()
	f, t := d.open(id)
	r := call(id, 1, 100)
	scopes := []sessions.Scope{{Kind: "global"}, {Kind: "chat", ID: f.Token}, {Kind: "person", ID: "u1"}}
	d.ok(d.s.Reserve(ctx, f, sessions.Charge{Session: t.Session, Turn: id, Scopes: scopes}, r))
	st := settled(r, 40)
	done, err := d.s.Finish(ctx, f, sessions.FinishTurn{
		Turn: id, Outcome: transcript.EndTurn, At: noon, Settlement: &st,
		Messages: []transcript.Message{{ID: id + "-answer", Role: transcript.Assistant, Model: "model-1", Parts: []transcript.Part{transcript.Text{Text: "hello yourself"}}, CreatedAt: noon}},
		Replies:  []sessions.Outgoing{{ID: id + "-reply", Channel: "tg", Session: t.Session, Turn: id, To: d.key.Address(), Text: "hello yourself", At: noon}},
		Sending:  &sessions.Progress{Bodies: [][]byte{[]byte(`{"text":"hello yourself"}`)}, Marks: []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: noon}}},
	})
	d.ok(err)
	if !done.Sending {
		d.tb.Fatal("the delivery did not begin with the end of the turn")
	}
	d.ok(d.s.Advance(ctx, id+"-reply", sessions.Progress{Marks: []sessions.Mark{{From: sessions.Sending, To: sessions.Sent, MessageID: "n-" + id, At: noon}}}))
}

// BenchmarkReserveAndSettle is the money of one model call, made by a session at
// a depth below the root (1 is the root itself), counted for all that a turn in a
// group is counted for, with limits.
func BenchmarkReserveAndSettle(b *testing.B) {
	for _, how := range syncs {
		for _, depth := range []int{1, 5} {
			b.Run(fmt.Sprintf("sync=%s/depth=%d", how, depth), func(b *testing.B) {
				d := newDesk(b, serverThatSyncs(b, how).open(b), "chat")
				f, t := d.open("t")
				at := sessions.Session{ID: t.Session, Key: d.key}
				for i := range depth - 1 {
					k, err := at.Key.Child("helper")
					d.ok(err)
					at, _, err = d.s.Spawn(b.Context(), f, sessions.Session{ID: sessionkeys.ChildID(at.ID, "t", i+1, "c"), Key: k, Parent: at.ID, Role: "task", CreatedAt: noon})
					d.ok(err)
				}
				const limit = 1_000_000 * costs.USD
				c := sessions.Charge{Session: at.ID, Turn: "t", Scopes: []sessions.Scope{
					{Kind: "turn", ID: "t", Window: costs.Always, Limit: limit},
					{Kind: "session", ID: "s", Window: costs.Always, Limit: limit},
					{Kind: "person", ID: "p", Limit: limit},
					{Kind: "group", ID: "g", Limit: limit},
					{Kind: "chat", ID: "c"},
					{Kind: "channel", ID: "tg"},
					{Kind: "global", Limit: limit},
					{Kind: "global", Window: costs.Month},
				}}
				i := 0
				for b.Loop() {
					i++
					r := call("t", i, costs.USD/50)
					d.ok(d.s.Reserve(b.Context(), f, c, r))
					d.ok(d.s.Settle(b.Context(), f, settled(r, costs.USD/500)))
				}
			})
		}
	}
}

func BenchmarkWholeTurn(b *testing.B) {
	for _, how := range syncs {
		for _, n := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("sync=%s/chats=%d", how, n), func(b *testing.B) {
				s := serverThatSyncs(b, how).open(b)
				desks := make([]*desk, n)
				for g := range desks {
					desks[g] = newDesk(b, s, fmt.Sprint("chat-", g))
				}
				spread(b, n, func(g, i int) { desks[g].turn(fmt.Sprint("turn-", i)) })
			})
		}
	}
}

// spread runs b.N steps on n goroutines.
func spread(b *testing.B, n int, step func(g, i int)) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for g := range n {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				step(g, i)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_s")
}
