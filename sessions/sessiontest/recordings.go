package sessiontest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

var errAskedAgain = errors.New("the frame was asked for, but it is known")

// asks returns a charge to the turn's session that says what is asked.
func asks(t sessions.Turn, a transcript.RequestRecord) sessions.Charge {
	return sessions.Charge{Session: t.Session, Turn: t.ID, Request: &a}
}

// frame returns an Asked of the frame called name.
func frame(name string) transcript.RequestRecord {
	return transcript.RequestRecord{
		Template: name, Body: func() ([]byte, error) { return []byte(`{"frame": "` + name + `"}`), nil },
		Upto: 3, MaxTokens: 4096, Digest: "d-" + name,
	}
}

// asked returns what a session asked.
func (h *fixture) asked(id sessionkeys.SessionID) (rs []sessions.Recording) {
	h.t.Helper()
	h.ok(h.s.Requests(h.ctx, id, func(r sessions.Recording) bool {
		rs = append(rs, r)
		return true
	}))
	return rs
}

// recordedAs returns what Asked must say of the call r that asked a.
func recordedAs(r costs.Reservation, a transcript.RequestRecord) sessions.Recording {
	a.Body = nil
	return sessions.Recording{ID: r.ID, Turn: r.Estimate.Call.Turn, At: r.At, Upper: r.Estimate.Upper, RequestRecord: a}
}

func recordings(t *testing.T, open opener) {
	askedCases.run(t, open)
	askedCasesOfTurns.run(t, open)
	exportCases.run(t, open)
}

var askedCases = cases{
	"a frame that nobody asked with is not found": func(h *fixture) {
		h.is(failed(h.s.RequestTemplate(h.ctx, "none")), sessions.ErrNotFound)
	},
}

var askedCasesOfTurns = turnCases{
	"what a call asks comes back as it was, in the order of reserving": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		first, second := frame("a"), frame("b")
		second.Tail = []transcript.Message{said("", "answer now")}
		second.Upto, second.MaxTokens = 0, 0
		r1, r2 := call(turn.ID, 2, 1, 700), call(turn.ID, 1, 2, 30)
		r2.At = noon.Add(-time.Hour)
		h.reserve(f, asks(turn, first), r1)
		h.reserve(f, asks(turn, second), r2)
		h.same("asked", h.asked(turn.Session), []sessions.Recording{recordedAs(r1, first), recordedAs(r2, second)})
	},
	"the call that opens a turn is recorded with it": func(h *fixture, _ sessions.Fence, _ sessions.Turn) {
		m := h.take(h.ann, "two", 1)
		o := opening(m.Fence(), 1)
		r := call(o.Turn.ID, 1, 1, 90)
		o.Call = &sessions.OpeningCall{Charge: asks(sessions.Turn{ID: o.Turn.ID, Session: m.Session}, frame("first")), Reservation: r}
		h.same("opened", second(must2(h.s.Open(h.ctx, m.Fence(), o))), true)
		h.same("asked", h.asked(m.Session), []sessions.Recording{recordedAs(r, frame("first"))})
	},
	"a frame is asked for once, whichever session needs it, and kept to the byte": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		a := frame("same")
		h.reserve(f, asks(turn, a), call(turn.ID, 1, 1, 1))
		a.Body = func() ([]byte, error) { return nil, errAskedAgain }
		h.reserve(f, asks(turn, a), call(turn.ID, 2, 1, 1))
		g, other := h.working("two")
		h.reserve(g, asks(other, a), call(other.ID, 1, 1, 1))
		h.same("frame", string(must(h.s.RequestTemplate(h.ctx, "same"))), `{"frame": "same"}`)
		h.same("asked of the other", len(h.asked(other.Session)), 1)
	},
	"a frame that cannot be encoded reserves nothing": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		a := frame("broken")
		a.Body = func() ([]byte, error) { return nil, errAskedAgain }
		h.is(h.s.Reserve(h.ctx, f, asks(turn, a), call(turn.ID, 1, 1, 500)), errAskedAgain)
		h.same("held", h.session(turn.Session).Held, costs.Amount(0))
		h.reserve(f, asks(turn, frame("broken")), call(turn.ID, 1, 1, 500))
		h.same("asked", len(h.asked(turn.Session)), 1)
	},
	"reserving again records once": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		r := call(turn.ID, 1, 1, 700)
		for range 3 {
			h.reserve(f, asks(turn, frame("a")), r)
		}
		h.ok(h.s.Settle(h.ctx, f, cost(r, 5)))
		h.reserve(f, asks(turn, frame("a")), r)
		h.same("asked", h.asked(turn.Session), []sessions.Recording{recordedAs(r, frame("a"))})
	},
	"a refused call leaves no recording and no frame": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		c := asks(turn, frame("refused"))
		c.Scopes = []sessions.Scope{{Kind: "person", ID: "p", Limit: 10}}
		var refused *costs.BudgetError
		if err := h.s.Reserve(h.ctx, f, c, call(turn.ID, 1, 1, 11)); !errors.As(err, &refused) {
			h.t.Fatalf("got error %v, want a budget's", err)
		}
		h.same("asked", h.asked(turn.Session), []sessions.Recording(nil))
		h.is(failed(h.s.RequestTemplate(h.ctx, "refused")), sessions.ErrNotFound)
	},
	"a stale owner records nothing": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		stale := f
		stale.Epoch++
		h.is(h.s.Reserve(h.ctx, stale, asks(turn, frame("a")), call(turn.ID, 1, 1, 1)), sessions.ErrFenced)
		h.same("asked", h.asked(turn.Session), []sessions.Recording(nil))
	},
	"a call whose answer never came stays recorded": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		r := h.reserve(f, asks(turn, frame("a")), call(turn.ID, 1, 1, 700))
		must(h.s.Resume(h.ctx, f, noon))
		h.same("asked", h.asked(turn.Session), []sessions.Recording{recordedAs(r, frame("a"))})
	},
	"a child's calls are its own": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		c := h.spawn(f, h.session(turn.Session), "kid")
		r := call("nested", 1, 1, 5)
		a := frame("kid")
		h.reserve(f, sessions.Charge{Session: c.ID, Turn: "nested", Request: &a}, r)
		h.same("asked of the child", h.asked(c.ID), []sessions.Recording{recordedAs(r, a)})
		h.same("asked of the parent", h.asked(turn.Session), []sessions.Recording(nil))
	},
	"many are read in their order, and the reading ends when told to": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		for i := range 300 {
			h.reserve(f, asks(turn, frame("a")), call(turn.ID, 1, i+1, costs.Amount(i)))
		}
		rs := h.asked(turn.Session)
		h.same("asked", len(rs), 300)
		for i, r := range rs {
			h.same("upper", r.Upper, costs.Amount(i))
		}
		n := 0
		h.ok(h.s.Requests(h.ctx, turn.Session, func(sessions.Recording) bool { n++; return n < 7 }))
		h.same("read", n, 7)
	},
}

var exportCases = turnCases{
	"a turn says what its budgets refused": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		e := ending(turn.ID)
		e.Refused = &costs.BudgetError{Scope: "person", Limit: 5_000_000_000_001, Spent: 7, Need: 9, Free: noon.Add(time.Hour), Unpriced: true}
		must(h.s.Finish(h.ctx, f, e))
		h.same("refused", must(h.s.Turn(h.ctx, turn.ID)).Refused, e.Refused)
		h.same("refused in the list", must(h.s.TurnsOf(h.ctx, turn.Session))[0].Refused, e.Refused)
	},
	"messages are read in pieces": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		for i := range 9 {
			h.ok(h.s.Append(h.ctx, f, turn.ID, answered(fmt.Sprint("m", i), "x")))
		}
		all := must(h.s.Messages(h.ctx, turn.Session))
		var got []transcript.Message
		for {
			ms := must(h.s.MessagesAfter(h.ctx, turn.Session, len(got), 4))
			if len(ms) == 0 {
				break
			}
			got = append(got, ms...)
		}
		h.same("messages", got, all)
	},
	"answers of a session are listed in order, finished or not, with their parts": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.touch("one", 2)
		e := ending(turn.ID)
		e.Replies = nil
		for _, id := range []string{"r1", "r2"} {
			r := reply(id, turn.ID)
			r.Session = turn.Session
			e.Replies = append(e.Replies, r)
		}
		e.Replies[1] = fileOf("r2", turn)
		must(h.s.Finish(h.ctx, f, e))
		g, other := h.working("two")
		h.finish(g, other.ID)
		h.ok(h.s.Advance(h.ctx, "r1", sessions.Progress{Bodies: [][]byte{[]byte("a")}, Marks: []sessions.Mark{{To: sessions.Sending, From: sessions.Queued, At: noon}}}))
		h.ok(h.s.Advance(h.ctx, "r1", sessions.Progress{Marks: []sessions.Mark{{From: sessions.Sending, To: sessions.Sent, MessageID: "m9", At: noon}}}))
		var got []string
		var file *sessions.File
		h.ok(h.s.Deliveries(h.ctx, turn.Session, func(d sessions.Delivery) bool {
			got, file = append(got, fmt.Sprint(d.ID, len(d.Parts))), d.File
			return true
		}))
		h.same("answers", got, []string{"r11", "r20"})
		h.same("file", file, e.Replies[1].File)
		got = nil
		h.ok(h.s.Deliveries(h.ctx, turn.Session, func(d sessions.Delivery) bool {
			got = append(got, d.ID)
			return false
		}))
		h.same("answers until told to end", got, []string{"r1"})
	},
}
