package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"

	"github.com/google/go-cmp/cmp"
)

// fixture is a store with a clock and the steps that most cases begin with. Its
// steps end the test when they fail.
type fixture struct {
	*env
	books
	mail
	documents
}

// env is a store and a clock.
type env struct {
	t   *testing.T
	ctx context.Context
	s   sessions.Store
	now time.Time
	ann sessions.Worker // alive for an hour
}

type (
	// books are what calls cost.
	books struct{ *env }
	// mail is answers on their way out, and the chats that they go to.
	mail struct{ *env }
	// documents are records.
	documents struct{ *env }
)

// noon is when every case begins.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 123_000_000, time.UTC)

const lease = time.Hour

// bob is another worker than ann.
var bob = sessions.Worker{Name: "bob", Nonce: "bob-1"}

func newHouse(t *testing.T, s sessions.Store) *fixture {
	t.Helper()
	e := &env{t: t, ctx: t.Context(), s: s, now: noon, ann: sessions.Worker{Name: "ann", Nonce: "ann-1"}}
	e.alive(e.ann)
	return &fixture{e, books{e}, mail{e}, documents{e}}
}

func (e *env) alive(w sessions.Worker) {
	e.t.Helper()
	e.ok(e.s.Heartbeat(e.ctx, w, e.now.Add(lease)))
}

func (e *env) ok(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) is(err, want error) {
	e.t.Helper()
	if !errors.Is(err, want) {
		e.t.Fatalf("got error %v, want %v", err, want)
	}
}

// fails ends the test unless there is an error.
func (e *env) fails(err error) {
	e.t.Helper()
	if err == nil {
		e.t.Fatal("it was not refused")
	}
}

func (e *env) same(what string, got, want any) {
	e.t.Helper()
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sessionkeys.Key{})); d != "" {
		e.t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// place returns the address of a chat.
func place(peer string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.Group, Peer: peer}
}

func sessionKey(peer string) (sessionkeys.Key, error) { return sessionkeys.For("helper", place(peer)) }

func keyOf(t testing.TB, peer string) sessionkeys.Key {
	t.Helper()
	k, err := sessionKey(peer)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// touch notes message seq of a chat without taking it.
func (h *fixture) touch(peer string, seq uint64) sessions.Mailbox {
	h.t.Helper()
	k := keyOf(h.t, peer)
	m, got := must2(h.s.Touch(h.ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: seq, Now: h.now}))
	if got {
		h.t.Fatal("a touch without take took the mailbox")
	}
	return m
}

// try touches for w, who would take the mailbox.
func (h *fixture) try(w sessions.Worker, peer string, seq uint64) (sessions.Mailbox, bool) {
	h.t.Helper()
	k := keyOf(h.t, peer)
	m, got := must2(h.s.Touch(h.ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: seq, By: w, Take: true, Now: h.now}))
	return m, got
}

// take touches for w, who must get the mailbox.
func (h *fixture) take(w sessions.Worker, peer string, seq uint64) sessions.Mailbox {
	h.t.Helper()
	m, got := h.try(w, peer, seq)
	if !got {
		h.t.Fatalf("%s did not get the mailbox: %+v", w.Nonce, m)
	}
	return m
}

func (h *fixture) mailbox(peer string) sessions.Mailbox {
	h.t.Helper()
	m := must(h.s.Mailbox(h.ctx, keyOf(h.t, peer).Token()))
	return m
}

func event(id string) sessions.InboxID {
	return sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "chat", Event: id}
}

func said(id, text string) transcript.Message {
	return transcript.Message{ID: id, Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: text}}, CreatedAt: noon}
}

func answered(id, text string) transcript.Message {
	m := said(id, text)
	m.Role, m.Model = transcript.Assistant, "model-1"
	return m
}

// turnID is that of the turn which message seq of a mailbox opens.
func turnID(token string, seq uint64) string { return fmt.Sprintf("turn-%s-%d", token[:6], seq) }

// opening is message seq of a mailbox as a turn.
func opening(f sessions.Fence, seq uint64) sessions.OpenTurn {
	id := turnID(f.Token, seq)
	return sessions.OpenTurn{
		Turn: sessions.Turn{
			ID: id, Seq: seq, Channel: "tg", From: place("chat"), ReplyTo: "m7", Sender: "user-9",
			ReceivedAt: noon.Add(-time.Second), OpenedAt: noon,
		},
		Events:  []sessions.InboxID{event(id)},
		Message: said(id+"-said", fmt.Sprint("message ", seq)),
	}
}

// nested is the opening of a turn of a child that runs inside its ancestor's owner.
func nested(f sessions.Fence, child sessionkeys.SessionID, id string) sessions.OpenTurn {
	o := opening(f, 1)
	o.Turn.ID, o.Turn.Session, o.Events, o.Message.ID = id, child, nil, "task"
	return o
}

// open opens a turn for message seq.
func (h *fixture) open(f sessions.Fence, seq uint64) sessions.Turn {
	h.t.Helper()
	t, opened := must2(h.s.Open(h.ctx, f, opening(f, seq)))
	if !opened {
		h.t.Fatal("the turn was not opened")
	}
	return t
}

// working returns a mailbox of ann's with an open turn.
func (h *fixture) working(peer string) (sessions.Fence, sessions.Turn) {
	h.t.Helper()
	m := h.take(h.ann, peer, 1)
	return m.Fence(), h.open(m.Fence(), 1)
}

func (h *fixture) finish(f sessions.Fence, turn string) (sessions.Mailbox, bool) {
	h.t.Helper()
	done := must(h.s.Finish(h.ctx, f, ending(turn)))
	return done.Mailbox, done.Released
}

func ending(turn string) sessions.FinishTurn {
	return sessions.FinishTurn{
		Turn: turn, Outcome: transcript.EndTurn, At: noon.Add(time.Second),
		Messages: []transcript.Message{answered(turn+"-answer", "so it is")},
		Replies:  []sessions.Outgoing{reply(turn+"-reply", turn)},
	}
}

func reply(id, turn string) sessions.Outgoing {
	return sessions.Outgoing{ID: id, Channel: "tg", Turn: turn, To: place("chat"), ReplyTo: "m7", Text: "so *it* is", At: noon}
}

// fileOf returns a file that a turn sends.
func fileOf(id string, turn sessions.Turn) sessions.Outgoing {
	o := reply(id, turn.ID)
	o.Session, o.Text = turn.Session, ""
	o.File = &sessions.File{Name: "überblick \"1\".pdf", MIME: "application/pdf", Size: 20 << 20, Object: "o-" + id}
	return o
}

// labels of the calls that cases make.
var labels = costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.RootTurn}

// call returns the reservation of one attempt that costs at most upper.
func call(turn string, step, attempt int, upper costs.Amount) costs.Reservation {
	c := costs.CallID{Turn: turn, Step: step, Attempt: attempt, Purpose: costs.RootTurn}
	return costs.Reservation{
		ID: fmt.Sprintf("%s/%d/%d", turn, step, attempt), At: noon,
		Estimate: costs.Estimate{Call: c, Labels: labels, Upper: upper, Priced: true},
	}
}

// cost settles r for amount.
func cost(r costs.Reservation, amount costs.Amount) costs.Settlement {
	return costs.Settlement{Reservation: r, Entry: costs.Entry{
		ID: r.ID, Call: r.Estimate.Call, Labels: r.Estimate.Labels, Amount: amount, Priced: true, State: costs.Settled,
		Usage: costs.Usage{Input: 10, Output: 3, Source: costs.Reported}, Outcome: "ok", RequestID: "req-1", At: noon,
	}}
}

func (h *fixture) session(id sessionkeys.SessionID) sessions.Session {
	h.t.Helper()
	s := must(h.s.Session(h.ctx, id))
	return s
}

func (h *fixture) history(id sessionkeys.SessionID) (ids []string) {
	h.t.Helper()
	ms := must(h.s.Messages(h.ctx, id))
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return ids
}

// entries is the ledger of a session, or the whole.
func (b books) entries(id sessionkeys.SessionID) (es []costs.Entry) {
	b.t.Helper()
	b.ok(b.s.Ledger(b.ctx, id, func(_ sessionkeys.SessionID, e costs.Entry) bool {
		es = append(es, e)
		return true
	}))
	return es
}

// spawn makes a child of parent.
func (h *fixture) spawn(f sessions.Fence, parent sessions.Session, name string) sessions.Session {
	h.t.Helper()
	c, made := must2(h.s.Spawn(h.ctx, f, childOf(h.t, parent, name)))
	if !made {
		h.t.Fatal("the child was there already")
	}
	return c
}

func childOf(t testing.TB, parent sessions.Session, name string) sessions.Session {
	t.Helper()
	k, err := parent.Key.Child("helper")
	if err != nil {
		t.Fatal(err)
	}
	return sessions.Session{
		ID: sessionkeys.ChildID(parent.ID, "turn", 1, name), Key: k, Parent: parent.ID, ToolCallID: name,
		Role: "task", Policy: []byte(`{"depth":1}`), Title: "find " + name, CreatedAt: noon,
	}
}

// second is the second of two answers.
func second[A, B any](_ A, b B) B { return b }
