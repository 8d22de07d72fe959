package sessiontest

import (
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

func turns(t *testing.T, open opener) {
	cases{
		"open stores the message and moves what was read": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			got := h.open(m.Fence(), 1)
			o := opening(m.Fence(), 1)
			want := o.Turn
			want.Token, want.Session, want.State, want.Attempts = m.Token, m.Session, sessions.Open, 1
			h.same("turn", got, want)
			stored := must(h.s.Turn(h.ctx, got.ID))
			h.same("stored", stored, want)
			m = h.mailbox("one")
			h.same("last read, turn, has work", []any{m.LastRead, m.Turn == nil, m.HasWork()}, []any{uint64(1), false, true})
			h.same("in the mailbox", *m.Turn, want)
			h.same("messages", must(h.s.Messages(h.ctx, m.Session)), []transcript.Message{o.Message})
		},
		"an event is known in every mailbox": func(h *fixture) {
			h.working("one")
			m := h.take(h.ann, "two", 1)
			o := opening(m.Fence(), 1)
			o.Events = opening(h.mailbox("one").Fence(), 1).Events
			h.same("opened", second(must2(h.s.Open(h.ctx, m.Fence(), o))), false)
		},
		"no part of an event's id is glued to another": func(h *fixture) {
			a := sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "31", Event: "131"}
			b := sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "3", Event: "1131"}
			for _, e := range []sessions.InboxID{a, b} {
				added := must(h.s.Notice(h.ctx, e, nil, h.now))
				h.same("added", added, true)
			}
		},
		"skip reads without a turn": func(h *fixture) {
			m := h.take(h.ann, "one", 3)
			m = must(h.s.Reacquire(h.ctx, m.Fence(), h.now))
			h.ok(h.s.Skip(h.ctx, m.Fence(), 2))
			m = h.mailbox("one")
			h.same("last read, last seen, attempts, owner", []any{m.LastRead, m.LastSeen, m.Attempts, m.Owner}, []any{uint64(2), uint64(3), 1, h.ann})
			h.ok(h.s.Skip(h.ctx, m.Fence(), 1))
			h.same("never back", h.mailbox("one"), m)
		},
		"a command is answered without a turn": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			done := must(h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 1, Event: event("e1"), Replies: []sessions.Outgoing{reply("r1", "")}, At: noon}))
			if !done || h.mailbox("one").LastRead != 1 {
				h.t.Fatal(done, h.mailbox("one"))
			}
			h.touch("one", 2)
			done = must(h.s.Answer(h.ctx, m.Fence(), sessions.Command{Seq: 2, Event: event("e1"), Replies: []sessions.Outgoing{reply("r2", "")}, At: noon}))
			if done || h.mailbox("one").LastRead != 2 {
				h.t.Fatal(done, h.mailbox("one"))
			}
			h.same("replies", len(must(h.s.Pending(h.ctx, "tg", 0, 10))), 1)
			h.touch("one", 5)
			done = must(h.s.Answer(h.ctx, m.Fence(), sessions.Command{
				Seq: 4, Event: event("e3"), With: []sessions.InboxID{event("e1"), event("e5")}, Replies: []sessions.Outgoing{reply("r3", "")}, At: noon,
			}))
			h.same("with others: done", done, true)
			known := must(h.s.Known(h.ctx, event("e3"), event("e4"), event("e5")))
			h.same("known", known, []bool{true, false, true})
		},
		"resume without an open turn is ErrNotFound": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.is(failed(h.s.Resume(h.ctx, m.Fence(), h.now)), sessions.ErrNotFound)
		},
		"a notice is queued once": func(h *fixture) {
			for i, want := range []bool{true, false} {
				added := must(h.s.Notice(h.ctx, event("n1"), []sessions.Outgoing{reply([]string{"n1", "n2"}[i], "")}, h.now))
				h.same("added", added, want)
			}
			h.same("notices", len(must(h.s.Pending(h.ctx, "tg", 0, 10))), 1)
		},
	}.run(t, open)
	turnCases{
		"a known event opens nothing and is read": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2)
			h.finish(f, turn.ID)
			o := opening(f, 2)
			o.Events = []sessions.InboxID{event(turn.ID)}
			_, opened := must2(h.s.Open(h.ctx, f, o))
			m := h.mailbox("one")
			h.same("opened, last read, turn, attempts, owner", []any{opened, m.LastRead, m.Turn != nil, m.Attempts, m.Owner}, []any{false, uint64(2), false, 1, h.ann})
			h.same("history", h.history(m.Session), []string{turn.ID + "-said", turn.ID + "-answer"})
		},
		"a mailbox has one open turn": func(h *fixture, f sessions.Fence, _ sessions.Turn) {
			h.touch("one", 2)
			h.fails(failed2(h.s.Open(h.ctx, f, opening(f, 2))))
			h.same("read", h.mailbox("one").LastRead, uint64(1))
		},
		"finish closes and releases in one step": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			m, released := h.finish(f, turn.ID)
			h.same("released, owner, turn, attempts, has work", []any{released, m.Owner, m.Turn != nil, m.Attempts, m.HasWork()}, []any{true, sessions.Worker{}, false, 0, false})
			h.same("stored", h.mailbox("one"), m)
			got := must(h.s.Turn(h.ctx, turn.ID))
			h.same("state, outcome, ended at", []any{got.State, got.Outcome, got.EndedAt}, []any{sessions.Done, transcript.EndTurn, noon.Add(time.Second)})
			h.same("history", h.history(m.Session), []string{turn.ID + "-said", turn.ID + "-answer"})
			ds := must(h.s.Pending(h.ctx, "tg", 0, 10))
			h.same("how many, id", []any{len(ds), ds[0].ID}, []any{1, turn.ID + "-reply"})
		},
		"finish keeps the owner while more is owed": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			h.touch("one", 2)
			m, released := h.finish(m.Fence(), turn.ID)
			h.same("released, owner, attempts", []any{released, m.Owner, m.Attempts}, []any{false, h.ann, 1})
			h.open(m.Fence(), 2)
		},
		"finish keeps the owner for a pending control request": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			must(h.s.Request(h.ctx, stop("one", "c1", 1)))
			if m, released := h.finish(f, turn.ID); released || m.Controls != 1 {
				h.t.Fatalf("released=%v %+v", released, m)
			}
		},
		"finish can settle the last call": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 100))
			e, st := ending(turn.ID), cost(r, 40)
			e.Settlement = &st
			must(h.s.Finish(h.ctx, f, e))
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{40, 40, 0})
			h.same("steps", must(h.s.Turn(h.ctx, turn.ID)).Steps, 1)
		},
		"finish leaves no call of the loop unsettled": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r, title := call(turn.ID, 1, 1, 100), call(turn.ID, 9, 1, 7)
			title.Estimate.Call.Purpose = costs.Title
			for _, r := range []costs.Reservation{r, title} {
				h.reserve(f, charged(turn), r)
			}
			h.finish(f, turn.ID)
			s := h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{0, 100 + 7})
			es := h.entries(turn.Session)
			h.same("how many, id, state, upper", []any{len(es), es[0].ID, es[0].State, es[0].Upper}, []any{1, r.ID, costs.Interrupted, costs.Amount(100)})
			h.is(h.s.Settle(h.ctx, f, cost(title, 3)), sessions.ErrFenced) // the mailbox was released
			s = h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{3, 100})
		},
		"a command can begin a new session": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2)
			h.touch("one", 3)
			h.finish(f, turn.ID)
			must(h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("e2"), Fresh: "fresh-1", At: noon}))
			m := h.mailbox("one")
			h.same("session, key", []any{m.Session, m.Key}, []any{sessionkeys.SessionID("fresh-1"), keyOf(h.t, "one")})
			s := h.session("fresh-1")
			h.same("root, role, key, messages", []any{s.Root, s.Role, s.Key, s.Messages}, []any{s.ID, "main", m.Key, 0})
			h.same("turn", h.open(f, 3).Session, m.Session)
			h.same("old history", len(h.history(turn.Session)), 2)
		},
		// requirements AI05, T04
		"a command can go on with an earlier session of the same key": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 100))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 40)))
			for seq := range uint64(6) {
				h.touch("one", seq)
			}
			h.finish(f, turn.ID)
			first := h.session(turn.Session)
			must(h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("e2"), Fresh: "fresh-1", At: noon}))
			back := sessions.Command{Seq: 3, Event: event("e3"), Resume: first.ID, Replies: []sessions.Outgoing{reply("back", "")}, At: noon}
			for _, done := range []bool{true, true} { // repeated it answers the same
				h.same("done", must(h.s.Answer(h.ctx, f, back)), done)
			}
			h.same("the mailbox feeds", h.mailbox("one").Session, first.ID)
			h.same("session with its money", h.session(first.ID), first)
			second := h.open(f, 4)
			h.same("turn", second.Session, first.ID)
			h.same("history", h.history(first.ID), []string{turn.ID + "-said", turn.ID + "-answer", second.ID + "-said"})
			h.finish(f, second.ID)
			must(h.s.Answer(h.ctx, f, sessions.Command{Seq: 5, Event: event("e5"), Resume: "fresh-1", At: noon}))
			h.same("the mailbox feeds", h.mailbox("one").Session, sessionkeys.SessionID("fresh-1"))
		},
		// requirements T04, TX07
		"a history that was kept elsewhere becomes a session that a command can go on with": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2)
			h.touch("one", 3)
			h.finish(f, turn.ID)
			title := sessions.Record{ID: sessions.RecordID{Kind: "title", Key: "restored-1"}, Owner: "admin", Body: []byte("{}"), At: noon}
			part := sessions.Restored{Session: "restored-1", Token: h.mailbox("one").Token, Messages: []transcript.Message{said("a", "words"), answered("b", "words")}, Records: []sessions.Record{title}, At: noon}
			h.ok(h.s.Restore(h.ctx, part))
			part.Records, part.Messages = nil, []transcript.Message{answered("b", "words"), said("c", "words")}
			for range 2 { // repeated it changes nothing
				h.ok(h.s.Restore(h.ctx, part))
			}
			h.same("history", h.history("restored-1"), []string{"a", "b", "c"})
			s := h.session("restored-1")
			h.same("root, role, key, messages, money", []any{s.Root, s.Role, s.Key, s.Messages, s.Subtree}, []any{s.ID, "main", h.mailbox("one").Key, 3, costs.Amount(0)})
			h.same("title", must(h.s.Record(h.ctx, title.ID, noon)).Body, title.Body)
			h.same("the mailbox feeds", h.mailbox("one").Session, turn.Session)
			must(h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("e2"), Resume: "restored-1", At: noon}))
			h.same("the mailbox feeds", h.mailbox("one").Session, s.ID)
			h.same("turn", h.open(f, 3).Session, s.ID)
			h.fails(h.s.Restore(h.ctx, part)) // it is at work
		},
		"a history is restored to no mailbox that is not there, nor into a session of another": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			_, other := h.working("two")
			child := h.spawn(f, h.session(turn.Session), "c")
			part := sessions.Restored{Session: "restored-1", Token: "nobody", Messages: []transcript.Message{said("a", "words")}, At: noon}
			h.is(h.s.Restore(h.ctx, part), sessions.ErrNotFound)
			part.Token = h.mailbox("one").Token
			for _, id := range []sessionkeys.SessionID{"", other.Session, turn.Session, child.ID} {
				part.Session = id
				h.fails(h.s.Restore(h.ctx, part))
			}
			part.Session, part.Records = "restored-1", []sessions.Record{{ID: sessions.RecordID{Kind: "title", Key: "x"}, Revision: 7, Owner: "admin", Body: []byte("{}"), At: noon}}
			h.is(h.s.Restore(h.ctx, part), sessions.ErrChanged)
			_, err := h.s.Session(h.ctx, "restored-1")
			h.is(err, sessions.ErrNotFound)
			h.same("histories", []int{len(h.history(other.Session)), len(h.history(turn.Session))}, []int{1, 1})
		},
		"a command goes on with no session of another key, no child, and none that is not there": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			_, other := h.working("two")
			child := h.spawn(f, h.session(turn.Session), "c")
			h.touch("one", 2)
			h.finish(f, turn.ID)
			before := h.mailbox("one")
			c := sessions.Command{Seq: 2, Event: event("e2"), Replies: []sessions.Outgoing{reply("back", "")}, At: noon}
			for _, id := range []sessionkeys.SessionID{other.Session, child.ID, "nobody"} {
				c.Resume = id
				h.is(failed(h.s.Answer(h.ctx, f, c)), sessions.ErrNotFound)
			}
			c.Resume, c.Fresh = turn.Session, "fresh-1"
			h.fails(failed(h.s.Answer(h.ctx, f, c)))
			h.same("mailbox", h.mailbox("one"), before)
			h.same("event known", must(h.s.Known(h.ctx, c.Event)), []bool{false})
			c.Fresh = ""
			h.same("done", must(h.s.Answer(h.ctx, f, c)), true)
		},
		"begin says whether an earlier take of the turn began it": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			for range 2 {
				again := must(h.s.Begin(h.ctx, f, turn.ID, 1, "call-1"))
				h.same("again in the same take", again, false)
			}
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			for range 2 {
				again := must(h.s.Begin(h.ctx, m.Fence(), turn.ID, 1, "call-1"))
				h.same("again in the next take", again, true)
			}
			again := must(h.s.Begin(h.ctx, m.Fence(), turn.ID, 2, "call-1"))
			h.same("another step", again, false)
		},
		// firstday A1: what was settled of a voice note is never asked for again, and what
		// was not has a row that holds what it may have cost.
		"a transcription is a step of its turn": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := charged(turn)
			heard, dangling := call(turn.ID, 1, 1, 50), call(turn.ID, 2, 1, 70)
			for _, r := range []*costs.Reservation{&heard, &dangling} {
				r.Estimate.Call.Purpose, r.Estimate.Labels.Purpose = costs.Transcription, costs.Transcription
			}
			words := transcript.Message{ID: turn.ID + "#voice.1", Role: transcript.User, CreatedAt: noon, Parts: []transcript.Part{transcript.Text{Text: "hi"}}}
			st := cost(heard, 9)
			st.Entry.Usage.ServerTools = map[string]int64{costs.AudioSecond: 9}
			h.reserve(f, c, heard)
			for range 2 {
				h.ok(h.s.Settle(h.ctx, f, st, words))
			}
			h.reserve(f, c, dangling)
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			got := must(h.s.Resume(h.ctx, m.Fence(), noon.Add(time.Minute)))
			h.same("where to go on", []int{got.Steps, got.Tries}, []int{1, 1})
			ids := h.history(turn.Session)
			h.same("the words are there once", ids[len(ids)-1:], []string{words.ID})
			es := h.entries(turn.Session)
			if len(es) != 2 || es[0].Amount != 9 || es[0].Labels.Purpose != costs.Transcription || es[0].Usage.ServerTools[costs.AudioSecond] != 9 ||
				es[1].State != costs.Interrupted || es[1].Amount != 0 || es[1].Upper != 70 {
				h.t.Fatalf("%+v", es)
			}
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{9, 9, 70})
		},
		// A call of a tool has a row for each try, in whichever take; none is a try of the next
		// model call. One that is permitted before the first step is of step 0.
		"a call of a tool is no step of its turn": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			journal := func(f sessions.Fence) *sessions.Journal {
				return &sessions.Journal{Store: h.s, Fence: f, Turn: turn.ID, Session: turn.Session, Now: func() time.Time { return noon }}
			}
			estimate := func(step int) costs.Estimate {
				l := costs.Labels{Provider: costs.ToolProvider, Model: "search", Channel: "tg", Purpose: costs.Tool}
				return costs.Estimate{Call: costs.CallID{Turn: turn.ID, Step: step, Purpose: costs.Tool}, Labels: l, Upper: 7, Priced: true}
			}
			result := func(id string) transcript.Message {
				return transcript.Message{ID: turn.ID + id, Role: transcript.Tool, CreatedAt: noon, Parts: []transcript.Part{transcript.ToolResult{ToolCallID: id, Name: "search", Content: "found"}}}
			}
			before := journal(f)
			permitted := must(before.ReserveTool(h.ctx, estimate(0), 0))
			for range 2 {
				h.ok(before.Settle(h.ctx, cost(permitted, 7), result("permitted")))
			}
			asked := call(turn.ID, 1, 1, 50)
			h.reserve(f, charged(turn), asked)
			h.ok(h.s.Settle(h.ctx, f, cost(asked, 20), answered("a1", "step one")))
			first := must(before.ReserveTool(h.ctx, estimate(1), 0))
			h.ok(before.Settle(h.ctx, cost(first, 7)))
			dangling := must(before.ReserveTool(h.ctx, estimate(1), 2))
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			got := must(h.s.Resume(h.ctx, m.Fence(), noon.Add(time.Minute)))
			h.same("where to go on", []int{got.Steps, got.Tries}, []int{1, 0})
			later := journal(m.Fence())
			again := must(later.ReserveTool(h.ctx, estimate(1), 2))
			other := must(later.ReserveTool(h.ctx, estimate(1), 1))
			twice := must(later.ReserveTool(h.ctx, estimate(1), 2))
			h.same("ids", []string{permitted.ID, first.ID, dangling.ID, again.ID, other.ID, twice.ID}, []string{
				turn.ID + "/tool/0/1", turn.ID + "/tool/1/1", turn.ID + "/tool/1/3", turn.ID + "/tool/1/35", turn.ID + "/tool/1/2", turn.ID + "/tool/1/67",
			})
			h.ok(later.Settle(h.ctx, cost(again, 7), result("again")))
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Held}, []costs.Amount{41, 21}) // what was cut off is held, and what runs
			h.same("used", must(later.Used(h.ctx)), int64(4*13))
			h.finish(m.Fence(), turn.ID)
			interrupted := 0
			for _, e := range h.entries(turn.Session) {
				if e.State == costs.Interrupted && e.Amount == 0 && e.Upper == 7 {
					interrupted++
				}
			}
			h.same("interrupted", interrupted, 3)
		},
		"resume interrupts what nobody settled": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: []sessions.Scope{{Kind: "global"}}}
			done, dangling := call(turn.ID, 1, 1, 50), call(turn.ID, 2, 3, 100)
			h.reserve(f, c, done)
			h.ok(h.s.Settle(h.ctx, f, cost(done, 20), answered("a1", "step one")))
			h.reserve(f, c, dangling)
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			for range 2 {
				got := must(h.s.Resume(h.ctx, m.Fence(), noon.Add(time.Minute)))
				h.same("where to go on", []int{got.Steps, got.Tries, got.Attempts}, []int{1, 3, 2})
			}
			es := h.entries(turn.Session)
			h.same("entries", len(es), 2)
			h.same("interrupted", []any{es[1].ID, es[1].State, es[1].Amount, es[1].Upper, es[1].Priced, es[1].At},
				[]any{dangling.ID, costs.Interrupted, costs.Amount(0), costs.Amount(100), true, noon.Add(time.Minute)})
			s := h.session(turn.Session)
			h.same("own and held", []costs.Amount{s.Own, s.Held}, []costs.Amount{20, 100})
			h.spent(sessions.Scope{Kind: "global"}, noon, 20, 100)
		},
		"finish interrupts a call that was reserved before its turn was opened": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := h.spawn(f, h.session(turn.Session), "c")
			h.reserve(f, sessions.Charge{Session: c.ID, Turn: "nested"}, call("nested", 1, 1, 100))
			o := nested(f, c.ID, "nested")
			must2(h.s.Open(h.ctx, f, o))
			h.finish(f, "nested")
			if es := h.entries(c.ID); len(es) != 1 || es[0].State != costs.Interrupted {
				h.t.Fatalf("%+v", es)
			}
		},
		"tries count the attempts of the next step": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			c := charged(turn)
			for try := 1; try <= 2; try++ {
				r := h.reserve(f, c, call(turn.ID, 1, try, 50))
				h.ok(h.s.Settle(h.ctx, f, cost(r, 5))) // failed: no answer
			}
			got := must(h.s.Turn(h.ctx, turn.ID))
			h.same("after two failures", []int{got.Steps, got.Tries}, []int{0, 2})
			r := h.reserve(f, c, call(turn.ID, 1, 3, 50))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 5), answered("a", "a")))
			got = must(h.s.Turn(h.ctx, turn.ID))
			h.same("after the answer", []int{got.Steps, got.Tries}, []int{1, 0})
		},
	}.run(t, open)
}
