package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

func erasures(t *testing.T, open opener) {
	eraseCases.run(t, open)
	eraseTurnCases.run(t, open)
}

// erasure is of a session an hour from now.
func (e *env) erasure(id sessionkeys.SessionID) sessions.Erasure {
	return sessions.Erasure{Session: id, Mark: []byte(`{"by":"op"}`), Owner: "operator", At: e.now.Add(time.Hour)}
}

// books is all that money is counted by of a tree.
func (h *fixture) counted(root sessionkeys.SessionID) (all []string) {
	h.t.Helper()
	for _, s := range must(h.s.Tree(h.ctx, root)) {
		all = append(all, fmt.Sprint(s.ID, s.Own, s.Subtree, s.Held, s.Unpriced))
	}
	h.ok(h.s.Ledger(h.ctx, "", func(id sessionkeys.SessionID, e costs.Entry) bool {
		all = append(all, fmt.Sprintf("%s %+v", id, e))
		return true
	}))
	ts := must(h.s.Totals(h.ctx))
	slices.SortFunc(ts, func(a, b sessions.Total) int { return int(a.Amount - b.Amount) })
	return append(all, fmt.Sprint(ts))
}

// send has an answer sent, in one part.
func (h *fixture) send(id string) {
	h.t.Helper()
	h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Bodies: [][]byte{[]byte(`"secret"`)}, Marks: []sessions.Mark{{To: sessions.Sending, From: sessions.Queued, At: noon}}}))
	h.ok(h.s.Advance(h.ctx, id, sessions.Progress{Marks: []sessions.Mark{{From: sessions.Sending, To: sessions.Sent, MessageID: "m9", At: noon}}}))
}

var eraseCases = cases{
	"what is added while somebody deletes is there whole, or gone whole, and no money is lost": func(h *fixture) {
		const turns = 5
		token, over := keyOf(h.t, "one").Token(), make(chan struct{})
		erased := map[sessionkeys.SessionID]bool{}
		var eraser sync.WaitGroup
		eraser.Go(func() {
			for last := false; !last; {
				select {
				case <-over:
					last = true
				default:
				}
				m, err := h.s.Mailbox(h.ctx, token)
				if err != nil {
					continue // it is not there yet
				}
				done, err := h.s.Erase(h.ctx, sessions.Erasure{Session: m.Session, At: h.now})
				if err != nil && !errors.Is(err, sessions.ErrBusy) {
					h.t.Error(err)
				}
				erased[m.Session] = erased[m.Session] || done
			}
		})
		of := map[sessionkeys.SessionID]int{}
		func() {
			defer eraser.Wait()
			defer close(over)
			for seq := uint64(1); seq <= turns; seq++ {
				m := h.take(h.ann, "one", seq)
				o := opening(m.Fence(), seq)
				o.Events = []sessions.InboxID{event(fmt.Sprint("e", seq))}
				turn, _ := must2(h.s.Open(h.ctx, m.Fence(), o))
				r := h.reserve(m.Fence(), charged(turn), call(turn.ID, 1, 1, 700))
				h.ok(h.s.Settle(h.ctx, m.Fence(), cost(r, 5), answered(fmt.Sprint("a", seq), "secret")))
				h.finishSent(m.Fence(), turn)
				of[turn.Session] += 3
			}
		}()
		var spent costs.Amount
		for id, messages := range of {
			if erased[id] {
				messages = 0
			}
			h.same("messages", len(must(h.s.Messages(h.ctx, id))), messages)
			spent += h.session(id).Subtree
		}
		total := must(h.s.Totals(h.ctx))
		h.same("spent", spent, total[0].Amount)
		h.same("calls", total[0].Calls, int64(turns))
		h.ok(h.s.Check(h.ctx))
	},
	"a session that is not there": func(h *fixture) {
		h.is(failed(h.s.Erase(h.ctx, h.erasure("none"))), sessions.ErrNotFound)
	},
}

var eraseTurnCases = turnCases{
	"messages and words of answers are gone, and the money is as it was": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		kid := h.spawn(f, h.session(turn.Session), "kid")
		o := nested(f, kid.ID, "nested")
		inner, _ := must2(h.s.Open(h.ctx, f, o))
		for _, t := range []sessions.Turn{turn, inner} {
			r := h.reserve(f, charged(t), call(t.ID, 1, 1, 700))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 5), answered("a"+t.ID, "secret")))
		}
		h.finish(f, inner.ID)
		e := ending(turn.ID)
		for i := range e.Replies {
			e.Replies[i].Session, e.Replies[i].Text = turn.Session, "secret"
		}
		must(h.s.Finish(h.ctx, f, e))
		for _, r := range e.Replies {
			h.send(r.ID)
		}
		before := h.counted(turn.Session)

		h.same("done", must(h.s.Erase(h.ctx, h.erasure(turn.Session))), true)
		h.same("what is counted", h.counted(turn.Session), before)
		for _, id := range []sessionkeys.SessionID{turn.Session, kid.ID} {
			s := h.session(id)
			h.same("messages", len(must(h.s.Messages(h.ctx, id))), 0)
			h.same("messages counted, title", fmt.Sprint(s.Messages, s.Title), "0")
		}
		for _, r := range e.Replies {
			d := must(h.s.Delivery(h.ctx, r.ID))
			h.same("what is left of an answer", fmt.Sprintf("%q %v %v %q %s %s", d.Text, d.File, d.Choices, d.Parts[0].Body, d.Parts[0].State, d.Parts[0].MessageID), `"" <nil> [] "" sent m9`)
		}
		h.same("changed", h.session(turn.Session).UpdatedAt, h.now.Add(time.Hour).UTC().Truncate(time.Millisecond))
		h.same("turns", must(h.s.TurnsOf(h.ctx, turn.Session))[0].ID, turn.ID)
		h.ok(h.s.Check(h.ctx))
		r := must(h.s.Record(h.ctx, sessions.ErasedRecord(turn.Session), h.now))
		h.same("mark", string(r.Body)+r.Owner, `{"by":"op"}operator`)
	},
	"it is done once": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		e := h.erasure(turn.Session)
		h.same("done", must(h.s.Erase(h.ctx, e)), true)
		fed := h.mailbox("one").Session
		h.same("done again", must(h.s.Erase(h.ctx, e)), false)
		h.same("fed", h.mailbox("one").Session, fed)
	},
	"the next message begins a new session, and an event that was heard is not heard again": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		must(h.s.Erase(h.ctx, h.erasure(turn.Session)))
		m := h.take(h.ann, "one", 2)
		if m.Session == turn.Session {
			h.t.Fatal("the mailbox feeds the session still")
		}
		again := opening(m.Fence(), 2)
		again.Events = opening(f, 1).Events
		h.same("an event that comes again", second(must2(h.s.Open(h.ctx, m.Fence(), again))), false)
		h.touch("one", 3)
		o := opening(m.Fence(), 3)
		o.Events = []sessions.InboxID{event("new")}
		next, _ := must2(h.s.Open(h.ctx, m.Fence(), o))
		h.same("session of the next turn", next.Session, m.Session)
		h.same("its messages", len(must(h.s.Messages(h.ctx, m.Session))), 1)
		h.same("those of the old one", len(must(h.s.Messages(h.ctx, turn.Session))), 0)
		h.ok(h.s.Check(h.ctx))
	},
	"not while a turn runs": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.is(failed(h.s.Erase(h.ctx, h.erasure(turn.Session))), sessions.ErrBusy)
		h.ok(h.s.Handover(h.ctx, f))
		h.is(failed(h.s.Erase(h.ctx, h.erasure(turn.Session))), sessions.ErrBusy)
		h.same("messages", len(must(h.s.Messages(h.ctx, turn.Session))), 1)
		h.is(failed(h.s.Record(h.ctx, sessions.ErasedRecord(turn.Session), h.now)), sessions.ErrNotFound)
	},
	"not while a message waits": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		h.touch("one", 2)
		h.is(failed(h.s.Erase(h.ctx, h.erasure(turn.Session))), sessions.ErrBusy)
	},
	"not while an answer is to be sent": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		e := ending(turn.ID)
		e.Replies[0].Session = turn.Session
		must(h.s.Finish(h.ctx, f, e))
		h.is(failed(h.s.Erase(h.ctx, h.erasure(turn.Session))), sessions.ErrBusy)
	},
	"not while a sub-agent's turn is open": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		kid := h.spawn(f, h.session(turn.Session), "kid")
		must2(h.s.Open(h.ctx, f, nested(f, kid.ID, "nested")))
		h.finishSent(f, turn)
		h.is(failed(h.s.Erase(h.ctx, h.erasure(turn.Session))), sessions.ErrBusy)
	},
	"not while the mailbox has an owner, unless that is dead: then its fence holds no more": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		m := h.take(h.ann, "one", 2)
		must(h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 2, Event: event("new"), At: h.now}))
		e := h.erasure(turn.Session)
		e.At = h.now
		h.is(failed(h.s.Erase(h.ctx, e)), sessions.ErrBusy)
		e.At = h.now.Add(2 * lease)
		h.same("done", must(h.s.Erase(h.ctx, e)), true)
		h.is(h.s.Skip(h.ctx, m.Fence(), 3), sessions.ErrFenced)
		h.ok(h.s.Check(h.ctx))
	},
	"not when somebody went on with it since": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		e := h.erasure(turn.Session)
		e.Before = h.session(turn.Session).UpdatedAt
		h.is(failed(h.s.Erase(h.ctx, e)), sessions.ErrBusy)
		e.Before = e.Before.Add(time.Microsecond)
		m := h.take(h.ann, "one", 2)
		o := opening(m.Fence(), 2)
		o.Events, o.Turn.OpenedAt = []sessions.InboxID{event("two")}, e.Before
		next, _ := must2(h.s.Open(h.ctx, m.Fence(), o))
		h.same("its session", next.Session, turn.Session)
		h.finishSent(m.Fence(), next)
		h.is(failed(h.s.Erase(h.ctx, e)), sessions.ErrBusy)
		h.same("messages", len(must(h.s.Messages(h.ctx, turn.Session))), 4)
		h.is(failed(h.s.Record(h.ctx, sessions.ErasedRecord(turn.Session), h.now)), sessions.ErrNotFound)
		e.Before = h.session(turn.Session).UpdatedAt.Add(time.Microsecond)
		h.same("done", must(h.s.Erase(h.ctx, e)), true)
		h.same("messages", len(must(h.s.Messages(h.ctx, turn.Session))), 0)
		h.ok(h.s.Check(h.ctx))
	},
	"an earlier session of a conversation goes while a turn of the present one runs, and is not resumed": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		m := h.take(h.ann, "one", 2)
		fresh := sessionkeys.NewSessionID(h.now)
		must(h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 2, Event: event("new"), Fresh: fresh, At: h.now}))
		h.touch("one", 3)
		o := opening(m.Fence(), 3)
		o.Events = []sessions.InboxID{event("three")}
		next, _ := must2(h.s.Open(h.ctx, m.Fence(), o))
		must(h.s.Erase(h.ctx, h.erasure(turn.Session)))
		h.same("fed", h.mailbox("one").Session, fresh)
		h.same("messages of the present one", len(must(h.s.Messages(h.ctx, fresh))), 1)
		h.finish(m.Fence(), next.ID)
		m = h.take(h.ann, "one", 4)
		h.is(failed(h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 4, Event: event("resume"), Resume: turn.Session, At: h.now})), sessions.ErrNotFound)
		h.is(h.s.Restore(h.ctx, sessions.Restored{Session: turn.Session, Token: m.Token, Messages: []transcript.Message{said("x", "y")}, At: h.now}), sessions.ErrNotFound)
	},
	"a sub-agent's goes with its root": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		kid := h.spawn(f, h.session(turn.Session), "kid")
		h.finishSent(f, turn)
		h.fails(failed(h.s.Erase(h.ctx, h.erasure(kid.ID))))
		h.same("messages", len(must(h.s.Messages(h.ctx, turn.Session))) > 0, true)
	},
	"records go and come with it, or nothing happens": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
		h.finishSent(f, turn)
		gone, kept := sessions.RecordID{Kind: "goal", Key: "g"}, sessions.RecordID{Kind: "title", Key: "t"}
		must(h.s.WriteRecord(h.ctx, sessions.Record{ID: gone, Body: []byte("x"), At: h.now}))
		e := h.erasure(turn.Session)
		e.Drop = []sessions.RecordID{gone, {Kind: "goal", Key: "never"}}
		e.Records = []sessions.Record{{ID: kept, Revision: 7, Body: []byte("y"), At: h.now}}
		h.is(failed(h.s.Erase(h.ctx, e)), sessions.ErrChanged)
		must(h.s.Record(h.ctx, gone, h.now))
		h.same("messages", len(must(h.s.Messages(h.ctx, turn.Session))) > 0, true)
		e.Records[0].Revision = 0
		must(h.s.Erase(h.ctx, e))
		h.is(failed(h.s.Record(h.ctx, gone, h.now)), sessions.ErrNotFound)
		h.same("written", string(must(h.s.Record(h.ctx, kept, h.now)).Body), "y")
	},
}

// requestErasures are of stores that record what is asked.
func requestErasures(t *testing.T, open opener) {
	turnCases{
		"what was asked is gone, and templates that no other session needs": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			for i, name := range []string{"own", "shared", "unnamed"} {
				h.reserve(f, asks(turn, frame(name)), call(turn.ID, 1, i+1, 1))
			}
			h.finishSent(f, turn)
			g, other := h.working("two")
			h.reserve(g, asks(other, frame("shared")), call(other.ID, 1, 1, 1))
			e := h.erasure(turn.Session)
			e.Templates = []string{"own", "shared"}
			must(h.s.Erase(h.ctx, e))
			h.same("asked", h.asked(turn.Session), []sessions.Recording(nil))
			h.is(failed(h.s.RequestTemplate(h.ctx, "own")), sessions.ErrNotFound)
			must(h.s.RequestTemplate(h.ctx, "shared"))
			must(h.s.RequestTemplate(h.ctx, "unnamed"))
			h.reserve(g, asks(other, frame("own")), call(other.ID, 2, 1, 1))
			h.same("a template that is needed again", string(must(h.s.RequestTemplate(h.ctx, "own"))), `{"frame": "own"}`)
			h.ok(h.s.Check(h.ctx))
		},
	}.run(t, open)
}

// finishSent ends a turn without an answer.
func (h *fixture) finishSent(f sessions.Fence, turn sessions.Turn) {
	h.t.Helper()
	e := ending(turn.ID)
	e.Replies = nil
	must(h.s.Finish(h.ctx, f, e))
}
