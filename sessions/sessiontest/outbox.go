package sessiontest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/sessions"
)

// queued puts answers into the outbox.
func (m mail) queued(rs ...sessions.Outgoing) {
	m.t.Helper()
	added := must(m.s.Notice(m.ctx, sessions.InboxID{}, rs, m.now))
	m.same("added", added, true)
}

func (m mail) delivery(id string) sessions.Delivery {
	m.t.Helper()
	d := must(m.s.Delivery(m.ctx, id))
	return d
}

func (m mail) pending() (ids []string) {
	m.t.Helper()
	ds := must(m.s.Pending(m.ctx, "tg", 0, 100))
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	return ids
}

// handedOver ends a turn and begins the delivery of its answer.
func handedOver(turn string) sessions.FinishTurn {
	e := ending(turn)
	e.Sending = begins("ann")
	return e
}

// begins is how a delivery of two parts begins.
func begins(by string) *sessions.Progress {
	return &sessions.Progress{
		Bodies: [][]byte{[]byte("one"), []byte("two")},
		Marks:  []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: noon, By: by}},
	}
}

func outbox(t *testing.T, open opener) {
	cases{
		"answers of a channel are pending in the order they were queued": func(h *fixture) {
			var want []string
			for i := range 20 {
				r := reply(fmt.Sprint("r", i), "")
				if i%3 == 0 {
					r.Channel = "other"
				} else {
					want = append(want, r.ID)
				}
				h.queued(r)
			}
			h.same("pending", h.pending(), want)
			ds := must(h.s.Pending(h.ctx, "tg", 0, 3))
			h.same("limited", len(ds), 3)
			for i := range ds[1:] {
				if ds[i].Order >= ds[i+1].Order {
					h.t.Fatalf("order %d before %d", ds[i].Order, ds[i+1].Order)
				}
			}
		},
		"an answer that may have been given before says so": func(h *fixture) {
			r := reply("r", "")
			h.queued(r)
			again := reply("again", "")
			again.MaybeDuplicate = true
			h.queued(again)
			h.same("first", h.delivery("r").MaybeDuplicate, false)
			h.same("again", h.delivery("again").MaybeDuplicate, true)
		},
		"an answer comes back as it was queued": func(h *fixture) {
			r := reply("r", "")
			r.Session = "s1"
			r.Choices = []sessions.Choice{{Label: "Yes", Says: "/approve 1"}, {Label: "No", Says: "/deny 1"}}
			h.queued(r)
			d := h.delivery("r")
			h.same("delivery", d, sessions.Delivery{Outgoing: r, Order: d.Order})
			other := r
			other.Text = "changed"
			h.queued(other)
			h.same("queued again", h.delivery("r"), d)
		},
		"an answer that the end of its turn begins": func(h *fixture) {
			f, turn := h.working("a")
			e := handedOver(turn.ID)
			done := must(h.s.Finish(h.ctx, f, e))
			h.same("sending", done.Sending, true)
			h.same("part", h.delivery(e.Replies[0].ID).Parts, []sessions.Part{
				{Body: []byte("one"), State: sessions.Sending, Attempts: 1, At: noon, By: "ann"}, {Body: []byte("two"), State: sessions.Queued},
			})
			h.same("pending", h.pending(), []string{e.Replies[0].ID})
			h.same("sending when it is repeated", must(h.s.Finish(h.ctx, f, e)).Sending, true)
			other := e
			other.Sending = begins("bob")
			h.same("sending for somebody else", must(h.s.Finish(h.ctx, f, other)).Sending, false)

			mark := func(i int, from, to sessions.SendState) sessions.Mark {
				return sessions.Mark{Index: i, From: from, To: to, At: noon, By: "ann"}
			}
			h.ok(h.s.Advance(h.ctx, e.Replies[0].ID, sessions.Progress{Marks: []sessions.Mark{mark(0, sessions.Sending, sessions.Sent), mark(1, sessions.Queued, sessions.Sending)}}))
			h.same("sending when it was sent", must(h.s.Finish(h.ctx, f, e)).Sending, false)
			h.ok(h.s.Advance(h.ctx, e.Replies[0].ID, sessions.Progress{Marks: []sessions.Mark{mark(1, sessions.Sending, sessions.Sent)}}))
			h.same("pending", len(h.pending()), 0)
			h.ok(h.s.Check(h.ctx))
		},
		"an answer is not begun while another waits for its chat": func(h *fixture) {
			h.queued(reply("before", ""))
			end := func(peer string) (sessions.Finished, string) {
				f, turn := h.working(peer)
				e := handedOver(turn.ID)
				return must(h.s.Finish(h.ctx, f, e)), e.Replies[0].ID
			}
			done, id := end("a")
			h.same("sending", done.Sending, false)
			h.same("parts", len(h.delivery(id).Parts), 0)
			h.same("pending", h.pending(), []string{"before", id})

			for _, id := range []string{"before", id} {
				h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Close: true}))
			}
			elsewhere := reply("elsewhere", "")
			elsewhere.To = place("another chat")
			h.queued(elsewhere)
			done, _ = end("b")
			h.same("sending when nothing waits there", done.Sending, true)
			done, _ = end("c")
			h.same("sending behind one that was begun", done.Sending, false)
		},
		"one reply alone is begun": func(h *fixture) {
			f, turn := h.working("a")
			e := handedOver(turn.ID)
			e.Replies = append(e.Replies, reply("second", turn.ID))
			if err := failed(h.s.Finish(h.ctx, f, e)); err == nil {
				h.t.Fatal("the delivery of one of two replies began")
			}
			h.same("pending", len(h.pending()), 0)
		},
		"parts are set once and walk through their states": func(h *fixture) {
			h.queued(reply("r", ""))
			h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Bodies: [][]byte{[]byte("one"), []byte("two")}}))
			h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Bodies: [][]byte{[]byte("else")}}))
			move := func(i int, from, to sessions.SendState, id, problem string) {
				h.t.Helper()
				h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{{Index: i, From: from, To: to, MessageID: id, Problem: problem, At: noon}}}))
			}
			move(0, sessions.Queued, sessions.Sending, "", "")
			move(0, sessions.Sending, sessions.Queued, "", "429")
			move(0, sessions.Queued, sessions.Sending, "", "")
			move(0, sessions.Sending, sessions.Ambiguous, "", "reset")
			move(0, sessions.Ambiguous, sessions.Sent, "id-1", "")
			h.same("parts", h.delivery("r").Parts, []sessions.Part{
				{Body: []byte("one"), State: sessions.Sent, Attempts: 2, MessageID: "id-1", At: noon},
				{Body: []byte("two"), State: sessions.Queued, At: time.Time{}},
			})
			h.same("pending", h.pending(), []string{"r"})
			move(1, sessions.Queued, sessions.Failed, "", "too long")
			h.same("pending", h.pending(), []string(nil))
			h.same("parts", len(h.delivery("r").Parts), 2)
		},
		"a part knows how often it was repeated and why it failed": func(h *fixture) {
			h.queued(reply("r", ""))
			h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Bodies: [][]byte{[]byte("one"), []byte("two")}}))
			m := sessions.Mark{From: sessions.Queued, To: sessions.Sending, Repeats: 1, At: noon}
			h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{m}}))
			h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{m}})) // its answer was lost
			other := m
			other.Repeats = 2
			h.is(h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{other}}), sessions.ErrFenced)
			h.same("repeats", must(h.s.Pending(h.ctx, "tg", 0, 10))[0].Parts[0].Repeats, 1)

			m = sessions.Mark{From: sessions.Sending, To: sessions.Failed, Repeats: 5, Reason: sessions.Unconfirmed, Problem: "reset", At: noon}
			h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{m}}))
			other = m
			other.Reason = sessions.Refused
			h.is(h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{other}}), sessions.ErrFenced)
			h.same("parts", h.delivery("r").Parts, []sessions.Part{
				{Body: []byte("one"), State: sessions.Failed, Attempts: 1, Repeats: 5, Reason: sessions.Unconfirmed, Problem: "reset", At: noon},
				{Body: []byte("two"), State: sessions.Queued},
			})
		},
		"only the states that may follow do": func(h *fixture) {
			all := []sessions.SendState{sessions.Queued, sessions.Sending, sessions.Sent, sessions.Ambiguous, sessions.Failed}
			route := map[sessions.SendState][]sessions.SendState{
				sessions.Queued:    {},
				sessions.Sending:   {sessions.Sending},
				sessions.Sent:      {sessions.Sending, sessions.Sent},
				sessions.Ambiguous: {sessions.Sending, sessions.Ambiguous},
				sessions.Failed:    {sessions.Sending, sessions.Failed},
			}
			for _, from := range all {
				for _, to := range all {
					id := fmt.Sprint(from, "-", to)
					h.queued(reply(id, ""))
					h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Bodies: [][]byte{[]byte("x"), []byte("y")}}))
					at := sessions.Queued
					for _, next := range route[from] {
						h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Marks: []sessions.Mark{{From: at, To: next, At: noon}}}))
						at = next
					}
					err := h.s.Advance(h.ctx, id, sessions.Progress{Marks: []sessions.Mark{{From: from, To: to, At: noon.Add(time.Second)}}})
					want := from
					if slices.Contains(follows[from], to) {
						h.ok(err)
						want = to
					} else {
						h.is(err, sessions.ErrFenced)
					}
					h.same(id, h.delivery(id).Parts[0].State, want)
				}
			}
		},
		"a mark that does not fit leaves nothing of its step": func(h *fixture) {
			h.queued(reply("r", ""), reply("q", ""))
			p := sessions.Progress{
				Bodies: [][]byte{[]byte("one"), []byte("two")},
				Marks: []sessions.Mark{
					{Index: 0, From: sessions.Queued, To: sessions.Sending, At: noon},
					{Index: 1, From: sessions.Sending, To: sessions.Sent, MessageID: "x", At: noon},
				},
			}
			h.is(h.s.Advance(h.ctx, "r", p), sessions.ErrFenced)
			h.same("parts", h.delivery("r").Parts, []sessions.Part(nil))
			p.Marks[1] = sessions.Mark{Index: 7, From: sessions.Queued, To: sessions.Sending}
			h.is(h.s.Advance(h.ctx, "q", p), sessions.ErrNotFound)
			h.same("parts", h.delivery("q").Parts, []sessions.Part(nil))
		},
		"two senders do not both begin, in the same moment or later": func(h *fixture) {
			h.queued(reply("r", ""))
			begin := func(by string, at time.Time) error {
				return h.s.Advance(h.ctx, "r", sessions.Progress{
					Bodies: [][]byte{[]byte("x")}, Marks: []sessions.Mark{{From: sessions.Queued, To: sessions.Sending, At: at, By: by}},
				})
			}
			h.ok(begin("ann", noon))
			h.is(begin("bob", noon), sessions.ErrFenced)
			h.is(begin("bob", noon.Add(time.Millisecond)), sessions.ErrFenced)
			h.is(begin("ann", noon.Add(time.Millisecond)), sessions.ErrFenced)
			h.ok(begin("ann", noon)) // its answer was lost
			h.same("part", h.delivery("r").Parts, []sessions.Part{{Body: []byte("x"), State: sessions.Sending, Attempts: 1, At: noon, By: "ann"}})
		},
		"only the sender of a part takes back that it is being sent": func(h *fixture) {
			h.queued(reply("r", ""))
			h.ok(h.s.Advance(h.ctx, "r", *begins("ann")))
			move := func(by string, from, to sessions.SendState, repeats int) error {
				m := sessions.Mark{From: from, To: to, Repeats: repeats, At: noon, By: by}
				return h.s.Advance(h.ctx, "r", sessions.Progress{Marks: []sessions.Mark{m}})
			}
			h.is(move("bob", sessions.Sending, sessions.Queued, 0), sessions.ErrFenced)
			h.same("who sends it", h.delivery("r").Parts[0].By, "ann")
			h.ok(move("ann", sessions.Sending, sessions.Queued, 0))
			h.ok(move("ann", sessions.Sending, sessions.Queued, 0)) // its answer was lost

			h.ok(move("ann", sessions.Queued, sessions.Sending, 0))
			h.ok(move("bob", sessions.Sending, sessions.Ambiguous, 0)) // anyone may doubt
			h.ok(move("bob", sessions.Ambiguous, sessions.Sending, 1))
			h.is(move("ann", sessions.Sending, sessions.Ambiguous, 0), sessions.ErrFenced)
			h.same("repeats", h.delivery("r").Parts[0].Repeats, 1)
			h.ok(move("bob", sessions.Sending, sessions.Ambiguous, 0))
			h.ok(move("bob", sessions.Ambiguous, sessions.Sending, 1))
			h.ok(move("ann", sessions.Sending, sessions.Ambiguous, 1))
		},
		"an answer with nothing to show is closed": func(h *fixture) {
			h.queued(reply("r", ""), reply("q", ""))
			for range 2 {
				h.ok(h.s.Advance(h.ctx, "r", sessions.Progress{Close: true}))
			}
			h.same("pending", h.pending(), []string{"q"})
			h.fails(h.s.Advance(h.ctx, "q", sessions.Progress{Bodies: [][]byte{[]byte("x")}, Close: true}))
			h.same("pending", h.pending(), []string{"q"})
		},
		"what is queued later comes after what was seen": func(h *fixture) {
			h.queued(reply("a", ""), reply("b", ""))
			seen := must(h.s.Pending(h.ctx, "tg", 0, 10))
			h.queued(reply("c", ""))
			later := must(h.s.Pending(h.ctx, "tg", seen[len(seen)-1].Order, 10))
			if len(later) != 1 || later[0].ID != "c" {
				h.t.Fatalf("after a and b there are %v", later)
			}
		},
	}.run(t, open)
	turnCases{
		"a file comes back as it was queued, also among the pending": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := fileOf("r", turn)
			h.ok(h.s.Post(h.ctx, f, turn.ID, r))
			d := h.delivery("r")
			h.same("delivery", d, sessions.Delivery{Outgoing: r, Order: d.Order, AskedAt: turn.ReceivedAt})
			h.same("pending", must(h.s.Pending(h.ctx, "tg", 0, 10)), []sessions.Delivery{d})
			h.queued(reply("text", ""))
			if h.delivery("text").File != nil {
				h.t.Fatal("a text has a file")
			}
		},
		"what a turn posts stands before its answer": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.ok(h.s.Post(h.ctx, f, turn.ID, fileOf("a", turn), fileOf("b", turn)))
			h.ok(h.s.Post(h.ctx, f, turn.ID, fileOf("b", turn), fileOf("c", turn)))
			h.finish(f, turn.ID)
			h.same("pending", h.pending(), []string{"a", "b", "c", turn.ID + "-reply"})
		},
		"nothing is posted for a turn that is done, or another mailbox's": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			other, otherTurn := h.working("two")
			h.is(h.s.Post(h.ctx, f, otherTurn.ID, fileOf("a", turn)), sessions.ErrFenced)
			h.is(h.s.Post(h.ctx, f, "nobody's", fileOf("a", turn)), sessions.ErrNotFound)
			h.touch("two", 2) // so that it is not released
			h.finish(other, otherTurn.ID)
			h.is(h.s.Post(h.ctx, other, otherTurn.ID, fileOf("a", otherTurn)), sessions.ErrFenced)
			h.same("pending", h.pending(), []string{otherTurn.ID + "-reply"})
		},
		"a preview that began is known until its id is, or it is taken back": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.finish(f, turn.ID)
			begun := sessions.Preview{State: sessions.PreviewBegun}
			for _, note := range []sessions.Preview{begun, sessions.ShownPreview("p1"), begun, {}} {
				h.ok(h.s.Preview(h.ctx, turn.ID, note))
				ds := must(h.s.Pending(h.ctx, "tg", 0, 10))
				h.same("preview", ds[0].Preview, note)
				h.same("preview, looked up", h.delivery(ds[0].ID).Preview, note)
				noted := must(h.s.Previewed(h.ctx, turn.ID))
				h.same("preview of the turn", noted, note)
			}
			for _, wrong := range []sessions.Preview{{State: sessions.PreviewShown}, {ID: "p1"}, {State: sessions.PreviewBegun, ID: "p1"}} {
				h.fails(h.s.Preview(h.ctx, turn.ID, wrong))
			}
		},
		"a preview is known to the turn's answer": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.ok(h.s.Preview(h.ctx, turn.ID, sessions.ShownPreview("p1")))
			h.ok(h.s.Preview(h.ctx, turn.ID, sessions.ShownPreview("p2")))
			h.finish(f, turn.ID)
			h.queued(reply("plain", ""))
			ds := must(h.s.Pending(h.ctx, "tg", 0, 10))
			h.same("previews", []sessions.Preview{ds[0].Preview, ds[1].Preview}, []sessions.Preview{sessions.ShownPreview("p2"), {}})
		},
	}.run(t, open)
}
