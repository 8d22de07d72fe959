package sessiontest

import (
	"testing"
	"time"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

func turns(t *testing.T, open opener) {
	cases{
		"open stores the message and moves what was read": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			got := h.open(m.Fence(), 1)
			o := opening(m.Fence(), 1)
			want := o.Turn
			want.Token, want.Session, want.State, want.Attempts = m.Token, m.Session, sessions.Open, 1
			h.same("turn", got, want)
			stored, err := h.s.Turn(h.ctx, got.ID)
			h.ok(err)
			h.same("stored", stored, want)
			m = h.mailbox("one")
			if m.LastRead != 1 || m.Turn == nil || !m.HasWork() {
				t.Fatalf("%+v", m)
			}
			h.same("in the mailbox", *m.Turn, want)
			ms, err := h.s.Messages(h.ctx, m.Session)
			h.ok(err)
			h.same("messages", ms, []transcript.Message{o.Message})
		},
		"a known event opens nothing and is read": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.touch("one", 2)
			h.finish(f, turn.ID)
			o := opening(f, 2)
			o.Events = []sessions.InboxID{event(turn.ID)}
			_, opened, err := h.s.Open(h.ctx, f, o)
			h.ok(err)
			m := h.mailbox("one")
			if opened || m.LastRead != 2 || m.Turn != nil || m.Attempts != 1 || m.Owner != h.ann {
				t.Fatalf("opened=%v %+v", opened, m)
			}
			h.same("history", h.history(m.Session), []string{turn.ID + "-said", turn.ID + "-answer"})
		},
		"an event is known in every mailbox": func(t *testing.T, h *fixture) {
			h.working("one")
			m := h.take(h.ann, "two", 1)
			o := opening(m.Fence(), 1)
			o.Events = opening(h.mailbox("one").Fence(), 1).Events
			_, opened, err := h.s.Open(h.ctx, m.Fence(), o)
			h.ok(err)
			if opened {
				t.Fatal("answered twice")
			}
		},
		"no part of an event's id is glued to another": func(t *testing.T, h *fixture) {
			a := sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "31", Event: "131"}
			b := sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "3", Event: "1131"}
			for _, e := range []sessions.InboxID{a, b} {
				added, err := h.s.Notice(h.ctx, e, nil, h.now)
				h.ok(err)
				if !added {
					t.Fatalf("%+v was taken for another", e)
				}
			}
		},
		"a mailbox has one open turn": func(t *testing.T, h *fixture) {
			f, _ := h.working("one")
			h.touch("one", 2)
			if _, _, err := h.s.Open(h.ctx, f, opening(f, 2)); err == nil {
				t.Fatal("a second turn was opened")
			}
			h.same("read", h.mailbox("one").LastRead, uint64(1))
		},
		"finish closes and releases in one step": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			m, released := h.finish(f, turn.ID)
			if !released || m.Owner != (sessions.Worker{}) || m.Turn != nil || m.Attempts != 0 || m.HasWork() {
				t.Fatalf("released=%v %+v", released, m)
			}
			h.same("stored", h.mailbox("one"), m)
			got, err := h.s.Turn(h.ctx, turn.ID)
			h.ok(err)
			if got.State != sessions.Done || got.Outcome != transcript.EndTurn || !got.EndedAt.Equal(noon.Add(time.Second)) {
				t.Fatalf("%+v", got)
			}
			h.same("history", h.history(m.Session), []string{turn.ID + "-said", turn.ID + "-answer"})
			ds, err := h.s.Pending(h.ctx, "tg", 0, 10)
			h.ok(err)
			if len(ds) != 1 || ds[0].ID != turn.ID+"-reply" {
				t.Fatalf("%+v", ds)
			}
		},
		"finish keeps the owner while more is owed": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			m, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			h.touch("one", 2)
			m, released := h.finish(m.Fence(), turn.ID)
			if released || m.Owner != h.ann || m.Attempts != 1 {
				t.Fatalf("released=%v %+v", released, m)
			}
			h.open(m.Fence(), 2)
		},
		"finish keeps the owner for a pending control request": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			_, err := h.s.Request(h.ctx, stop("one", "c1", 1))
			h.ok(err)
			if m, released := h.finish(f, turn.ID); released || m.Controls != 1 {
				t.Fatalf("released=%v %+v", released, m)
			}
		},
		"finish can settle the last call": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			r := call(turn.ID, 1, 1, 100)
			h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, r))
			e, st := ending(turn.ID), cost(r, 40)
			e.Settlement = &st
			_, _, err := h.s.Finish(h.ctx, f, e)
			h.ok(err)
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{40, 40, 0})
			got, err := h.s.Turn(h.ctx, turn.ID)
			h.ok(err)
			h.same("steps", got.Steps, 1)
		},
		"finish leaves no call of the loop unsettled": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			r, title := call(turn.ID, 1, 1, 100), call(turn.ID, 9, 1, 7)
			title.Estimate.Call.Purpose = costs.Title
			for _, r := range []costs.Reservation{r, title} {
				h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, r))
			}
			h.finish(f, turn.ID)
			s := h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{0, 100 + 7})
			es := h.entries(turn.Session)
			if len(es) != 1 || es[0].ID != r.ID || es[0].State != costs.Interrupted || es[0].Upper != 100 {
				h.t.Fatalf("%+v", es)
			}
			h.is(h.s.Settle(h.ctx, f, cost(title, 3)), sessions.ErrFenced) // the mailbox was released
			s = h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{3, 100})
		},
		"skip reads without a turn": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 3)
			m, err := h.s.Reacquire(h.ctx, m.Fence(), h.now)
			h.ok(err)
			h.ok(h.s.Skip(h.ctx, m.Fence(), 2))
			m = h.mailbox("one")
			if m.LastRead != 2 || m.LastSeen != 3 || m.Attempts != 1 || m.Owner != h.ann {
				t.Fatalf("%+v", m)
			}
			h.ok(h.s.Skip(h.ctx, m.Fence(), 1))
			h.same("never back", h.mailbox("one"), m)
		},
		"a command is answered without a turn": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			done, err := h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 1, Event: event("e1"), Replies: []sessions.Outgoing{reply("r1", "")}, At: noon})
			h.ok(err)
			if !done || h.mailbox("one").LastRead != 1 {
				t.Fatal(done, h.mailbox("one"))
			}
			h.touch("one", 2)
			done, err = h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 2, Event: event("e1"), Replies: []sessions.Outgoing{reply("r2", "")}, At: noon})
			h.ok(err)
			if done || h.mailbox("one").LastRead != 2 {
				t.Fatal(done, h.mailbox("one"))
			}
			ds, err := h.s.Pending(h.ctx, "tg", 0, 10)
			h.ok(err)
			h.same("replies", len(ds), 1)
			h.touch("one", 5)
			done, err = h.s.Answer(h.ctx, m.Fence(), sessions.Command{
				Seq: 4, Event: event("e3"), With: []sessions.InboxID{event("e1"), event("e5")}, Replies: []sessions.Outgoing{reply("r3", "")}, At: noon,
			})
			h.ok(err)
			h.same("with others: done", done, true)
			known, err := h.s.Known(h.ctx, event("e3"), event("e4"), event("e5"))
			h.ok(err)
			h.same("known", known, []bool{true, false, true})
		},
		"a command can begin a new session": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.touch("one", 2)
			h.touch("one", 3)
			h.finish(f, turn.ID)
			_, err := h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("e2"), Fresh: "fresh-1", At: noon})
			h.ok(err)
			m := h.mailbox("one")
			if m.Session != "fresh-1" || m.Key != keyOf(t, "one") {
				t.Fatalf("%+v", m)
			}
			s := h.session("fresh-1")
			if s.Root != s.ID || s.Role != "main" || s.Key != m.Key || s.Messages != 0 {
				t.Fatalf("%+v", s)
			}
			h.same("turn", h.open(f, 3).Session, m.Session)
			h.same("old history", len(h.history(turn.Session)), 2)
		},
		"begin says whether an earlier take of the turn began it": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			for range 2 {
				again, err := h.s.Begin(h.ctx, f, turn.ID, 1, "call-1")
				h.ok(err)
				h.same("again in the same take", again, false)
			}
			m, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			for range 2 {
				again, err := h.s.Begin(h.ctx, m.Fence(), turn.ID, 1, "call-1")
				h.ok(err)
				h.same("again in the next take", again, true)
			}
			again, err := h.s.Begin(h.ctx, m.Fence(), turn.ID, 2, "call-1")
			h.ok(err)
			h.same("another step", again, false)
		},
		// firstday A1: what was settled of a voice note is never asked for again, and what
		// was not has a row that holds what it may have cost.
		"a transcription is a step of its turn": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			c := sessions.Charge{Session: turn.Session, Turn: turn.ID}
			heard, dangling := call(turn.ID, 1, 1, 50), call(turn.ID, 2, 1, 70)
			for _, r := range []*costs.Reservation{&heard, &dangling} {
				r.Estimate.Call.Purpose, r.Estimate.Labels.Purpose = costs.Transcription, costs.Transcription
			}
			words := transcript.Message{ID: turn.ID + "#voice.1", Role: transcript.User, CreatedAt: noon, Parts: []transcript.Part{transcript.Text{Text: "hi"}}}
			st := cost(heard, 9)
			st.Entry.Usage.ServerTools = map[string]int64{costs.AudioSecond: 9}
			h.ok(h.s.Reserve(h.ctx, f, c, heard))
			for range 2 {
				h.ok(h.s.Settle(h.ctx, f, st, words))
			}
			h.ok(h.s.Reserve(h.ctx, f, c, dangling))
			m, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			got, err := h.s.Resume(h.ctx, m.Fence(), noon.Add(time.Minute))
			h.ok(err)
			h.same("where to go on", []int{got.Steps, got.Tries}, []int{1, 1})
			ids := h.history(turn.Session)
			h.same("the words are there once", ids[len(ids)-1:], []string{words.ID})
			es := h.entries(turn.Session)
			if len(es) != 2 || es[0].Amount != 9 || es[0].Labels.Purpose != costs.Transcription || es[0].Usage.ServerTools[costs.AudioSecond] != 9 ||
				es[1].State != costs.Interrupted || es[1].Amount != 0 || es[1].Upper != 70 {
				t.Fatalf("%+v", es)
			}
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{9, 9, 70})
		},
		"resume interrupts what nobody settled": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			c := sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: []sessions.Scope{{Kind: "global"}}}
			done, dangling := call(turn.ID, 1, 1, 50), call(turn.ID, 2, 3, 100)
			h.ok(h.s.Reserve(h.ctx, f, c, done))
			h.ok(h.s.Settle(h.ctx, f, cost(done, 20), answered("a1", "step one")))
			h.ok(h.s.Reserve(h.ctx, f, c, dangling))
			m, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			for range 2 {
				got, err := h.s.Resume(h.ctx, m.Fence(), noon.Add(time.Minute))
				h.ok(err)
				h.same("where to go on", []int{got.Steps, got.Tries, got.Attempts}, []int{1, 3, 2})
			}
			es := h.entries(turn.Session)
			if len(es) != 2 {
				t.Fatalf("%+v", es)
			}
			e := es[1]
			if e.ID != dangling.ID || e.State != costs.Interrupted || e.Amount != 0 || e.Upper != 100 || !e.Priced || !e.At.Equal(noon.Add(time.Minute)) {
				t.Fatalf("%+v", e)
			}
			s := h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{20, 100})
			settled, held, err := h.s.Spent(h.ctx, sessions.Scope{Kind: "global"}, noon)
			h.ok(err)
			h.same("scope", []costs.Amount{settled, held}, []costs.Amount{20, 100})
		},
		"finish interrupts a call that was reserved before its turn was opened": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			c := h.spawn(f, h.session(turn.Session), "c")
			r := call("nested", 1, 1, 100)
			h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: c.ID, Turn: "nested"}, r))
			o := opening(f, 1)
			o.Turn.ID, o.Turn.Session, o.Events, o.Message.ID = "nested", c.ID, nil, "task"
			_, _, err := h.s.Open(h.ctx, f, o)
			h.ok(err)
			h.finish(f, "nested")
			if es := h.entries(c.ID); len(es) != 1 || es[0].State != costs.Interrupted {
				t.Fatalf("%+v", es)
			}
		},
		"resume without an open turn is ErrNotFound": func(_ *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			_, err := h.s.Resume(h.ctx, m.Fence(), h.now)
			h.is(err, sessions.ErrNotFound)
		},
		"tries count the attempts of the next step": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			c := sessions.Charge{Session: turn.Session, Turn: turn.ID}
			for try := 1; try <= 2; try++ {
				r := call(turn.ID, 1, try, 50)
				h.ok(h.s.Reserve(h.ctx, f, c, r))
				h.ok(h.s.Settle(h.ctx, f, cost(r, 5))) // failed: no answer
			}
			got, err := h.s.Turn(h.ctx, turn.ID)
			h.ok(err)
			h.same("after two failures", []int{got.Steps, got.Tries}, []int{0, 2})
			r := call(turn.ID, 1, 3, 50)
			h.ok(h.s.Reserve(h.ctx, f, c, r))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 5), answered("a", "a")))
			got, err = h.s.Turn(h.ctx, turn.ID)
			h.ok(err)
			h.same("after the answer", []int{got.Steps, got.Tries}, []int{1, 0})
		},
		"a notice is queued once": func(_ *testing.T, h *fixture) {
			for i, want := range []bool{true, false} {
				added, err := h.s.Notice(h.ctx, event("n1"), []sessions.Outgoing{reply([]string{"n1", "n2"}[i], "")}, h.now)
				h.ok(err)
				h.same("added", added, want)
			}
			ds, err := h.s.Pending(h.ctx, "tg", 0, 10)
			h.ok(err)
			h.same("notices", len(ds), 1)
		},
	}.run(t, open)
}
