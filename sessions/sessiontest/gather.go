package sessiontest

import (
	"errors"
	"fmt"
	"testing"

	"parley/sessions"
)

// events are inbox ids by their names.
func events(names ...string) (es []sessions.InboxID) {
	for _, n := range names {
		es = append(es, event(n))
	}
	return es
}

// wording returns what message id of a chat says.
func wording(id, sum string) sessions.TextHash {
	return sessions.TextHash{Channel: "telegram", Account: "bot", Chat: "chat", Message: id, Sum: sum}
}

// gathered returns one turn made of several events: message seq and those up to
// through.
func gathered(f sessions.Fence, seq, through uint64, names ...string) sessions.OpenTurn {
	o := opening(f, seq)
	o.Events, o.Through = events(names...), through
	return o
}

func (h *fixture) known(names ...string) []bool {
	h.t.Helper()
	known := must(h.s.Known(h.ctx, events(names...)...))
	return known
}

// gathering is turns that are made of more than one event.
func gathering(t *testing.T, open opener) {
	cases{
		"one opening takes all its events and reads through the last": func(h *fixture) {
			m := h.take(h.ann, "one", 3)
			turn, opened := must2(h.s.Open(h.ctx, m.Fence(), gathered(m.Fence(), 1, 3, "a", "b", "c")))
			h.same("opened, seq", []any{opened, turn.Seq}, []any{true, uint64(1)})
			h.same("known", h.known("a", "b", "c", "d"), []bool{true, true, true, false})
			h.same("read", h.mailbox("one").LastRead, uint64(3))
			h.same("history", h.history(m.Session), []string{turn.ID + "-said"})
			h.same("released", second(h.finish(m.Fence(), turn.ID)), true)
		},
		"what lies between the events is read later": func(h *fixture) {
			m := h.take(h.ann, "one", 3)
			f := m.Fence()
			turn, _ := must2(h.s.Open(h.ctx, f, gathered(f, 1, 1, "a", "c")))
			h.same("read", h.mailbox("one").LastRead, uint64(1))
			h.finish(f, turn.ID)
			second, opened := must2(h.s.Open(h.ctx, f, gathered(f, 2, 0, "b")))
			h.same("opened", opened, true)
			h.finish(f, second.ID)
			_, opened = must2(h.s.Open(h.ctx, f, gathered(f, 3, 0, "c")))
			h.same("opened, last read", []any{opened, h.mailbox("one").LastRead}, []any{false, uint64(3)})
		},
		"an event that is named twice counts once": func(h *fixture) {
			m := h.take(h.ann, "one", 2)
			h.same("opened", second(must2(h.s.Open(h.ctx, m.Fence(), gathered(m.Fence(), 1, 2, "a", "a")))), true)
		},
		"a repeated opening answers the same, whatever events it names": func(h *fixture) {
			m := h.take(h.ann, "one", 3)
			f := m.Fence()
			first, _ := must2(h.s.Open(h.ctx, f, gathered(f, 1, 2, "a", "b")))
			for _, names := range [][]string{{"a", "b"}, {"a", "b", "c"}, {"a"}} {
				again, opened := must2(h.s.Open(h.ctx, f, gathered(f, 1, 2, names...)))
				h.same("opened", opened, true)
				h.same("turn", again, first)
			}
			h.same("a later event", h.known("c"), []bool{false})
			h.same("read", h.mailbox("one").LastRead, uint64(2))
		},
		"a stale fence takes none of the events": func(h *fixture) {
			f := h.take(h.ann, "one", 2).Fence()
			must(h.s.Reacquire(h.ctx, f, h.now))
			o := gathered(f, 1, 2, "a", "b")
			o.TextHashes = []sessions.TextHash{wording("m", "1")}
			h.is(failed2(h.s.Open(h.ctx, f, o)), sessions.ErrFenced)
			h.same("known", h.known("a", "b"), []bool{false, false})
			h.same("said", second(must2(h.s.LastTextHash(h.ctx, wording("m", "")))), false)
		},
		"what a message said last is remembered by chat and message": func(h *fixture) {
			m := h.take(h.ann, "one", 2)
			f := m.Fence()
			for i, sum := range []string{"1", "2"} {
				o := opening(f, uint64(i+1))
				o.TextHashes = []sessions.TextHash{wording("m", sum), wording("n"+sum, sum)}
				turn, _ := must2(h.s.Open(h.ctx, f, o))
				h.finish(f, turn.ID)
			}
			other := wording("m", "")
			other.Chat = "another"
			for _, c := range []struct {
				w     sessions.TextHash
				sum   string
				found bool
			}{{wording("m", ""), "2", true}, {wording("n1", ""), "1", true}, {wording("x", ""), "", false}, {other, "", false}} {
				sum, found := must2(h.s.LastTextHash(h.ctx, c.w))
				h.same(c.w.Message, []any{sum, found}, []any{c.sum, c.found})
			}
		},
	}.run(t, open)
	turnCases{
		"when only some events are known nothing is written and they are named": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 4)
			h.finish(f, turn.ID)
			must(h.s.Notice(h.ctx, event("b"), nil, h.now))
			before := h.mailbox("one")
			o := gathered(f, 2, 4, "a", "b", "c")
			o.TextHashes = []sessions.TextHash{wording("m", "1")}
			for range 2 {
				_, opened, err := h.s.Open(h.ctx, f, o)
				ke, ok := errors.AsType[*sessions.KnownError](err)
				if !ok || opened {
					h.t.Fatalf("opened=%v, error %v", opened, err)
				}
				h.same("named", ke.Events, events("b"))
				h.same("mailbox", h.mailbox("one"), before)
				h.same("known", h.known("a", "c"), []bool{false, false})
				h.same("said", second(must2(h.s.LastTextHash(h.ctx, wording("m", "")))), false)
			}
			o.Events = events("a", "c")
			h.same("the others: opened", second(must2(h.s.Open(h.ctx, f, o))), true)
		},
		"when all events are known they are only read": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 3)
			h.finish(f, turn.ID)
			for _, e := range []string{"a", "b"} {
				must(h.s.Notice(h.ctx, event(e), nil, h.now))
			}
			_, opened := must2(h.s.Open(h.ctx, f, gathered(f, 2, 3, "a", "b", "a")))
			h.same("opened, last read, turn", []any{opened, h.mailbox("one").LastRead, h.mailbox("one").Turn != nil}, []any{false, uint64(3), false})
		},
	}.run(t, open)
}

// joined is message seq of a mailbox as it joins a turn: seq and those up to
// through, of the events by their names.
func joined(turn string, seq, through uint64, names ...string) sessions.JoinTurn {
	return sessions.JoinTurn{
		Turn: turn, Seq: seq, Through: through, Events: events(names...),
		TextHashes: []sessions.TextHash{wording(fmt.Sprint("m", seq), "1")}, Message: said(fmt.Sprintf("%s-joined-%d", turn, seq), "and this"),
	}
}

func (h *fixture) join(f sessions.Fence, j sessions.JoinTurn) bool {
	h.t.Helper()
	ok := must(h.s.Join(h.ctx, f, j))
	return ok
}

// joining is messages that join a turn which runs.
func joining(t *testing.T, open opener) {
	turnCases{
		"join stores the message, knows its events and moves what was read": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 3)
			before := h.mailbox("one")
			if !h.join(f, joined(turn.ID, 2, 3, "b", "c")) {
				h.t.Fatal("it did not join")
			}
			want := before
			open := *before.Turn
			open.Joined = []uint64{2}
			want.LastRead, want.Turn = 3, &open
			h.same("mailbox", h.mailbox("one"), want)
			h.same("known", h.known("b", "c", "d"), []bool{true, true, false})
			h.same("history", h.history(turn.Session), []string{turn.ID + "-said", turn.ID + "-joined-2"})
			sum, found := must2(h.s.LastTextHash(h.ctx, wording("m2", "")))
			h.same("said", []any{sum, found}, []any{"1", true})
			stored := must(h.s.Turn(h.ctx, turn.ID))
			turn.Joined = []uint64{2}
			h.same("turn", stored, turn)
			h.same("turn of the mailbox", h.mailbox("one").Turn, &turn)
			h.same("messages counted", h.session(turn.Session).Messages, 2)
			h.same("released", second(h.finish(f, turn.ID)), true)
		},
		"messages join in order, each by itself, without an event too": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 4)
			for seq := uint64(2); seq <= 3; seq++ {
				h.same("joined", h.join(f, joined(turn.ID, seq, 0, fmt.Sprint("e", seq))), true)
				h.same("read", h.mailbox("one").LastRead, seq)
			}
			h.same("joined", h.join(f, joined(turn.ID, 4, 0)), true)
			h.same("history", h.history(turn.Session),
				[]string{turn.ID + "-said", turn.ID + "-joined-2", turn.ID + "-joined-3", turn.ID + "-joined-4"})
			h.finish(f, turn.ID)
			h.same("what joined", must(h.s.TurnsOf(h.ctx, turn.Session))[0].Joined, []uint64{2, 3, 4})
		},
		"what is not known yet of the mailbox may join": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.join(f, joined(turn.ID, 5, 0, "e"))
			m := h.mailbox("one")
			h.same("touched and read", []uint64{m.LastSeen, m.LastRead}, []uint64{5, 5})
			h.same("highest", second(must2(h.s.Generation(h.ctx))), uint64(5))
		},
		"what joined leaves the attempts and the take of the turn alone": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			h.touch("one", 2)
			h.join(m.Fence(), joined(turn.ID, 2, 0, "b"))
			m = h.mailbox("one")
			h.same("attempts", []int{m.Attempts, m.Turn.Attempts}, []int{2, 2})
		},
		"a join that is repeated answers the same and adds nothing": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 4)
			for range 2 {
				h.same("joined", h.join(f, joined(turn.ID, 2, 3, "b", "c")), true)
			}
			h.join(f, joined(turn.ID, 4, 0, "d"))
			h.same("joined", h.join(f, joined(turn.ID, 2, 3, "b", "c")), true)
			h.same("read", h.mailbox("one").LastRead, uint64(4))
			h.same("history", len(h.history(turn.Session)), 3)
			h.same("what joined", h.mailbox("one").Turn.Joined, []uint64{2, 4})
		},
		"events that are known already are only read": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 3)
			must(h.s.Notice(h.ctx, event("b"), nil, h.now))
			h.same("joined", h.join(f, joined(turn.ID, 2, 0, "b")), false)
			h.same("read", h.mailbox("one").LastRead, uint64(2))
			h.same("history", len(h.history(turn.Session)), 1)
			h.same("joined", h.join(f, joined(turn.ID, 3, 0, turn.ID)), false) // the turn's own
			h.same("read", h.mailbox("one").LastRead, uint64(3))
			h.same("what joined", h.mailbox("one").Turn.Joined, []uint64(nil))
		},
		"when only some events are known nothing joins and they are named": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 3)
			must(h.s.Notice(h.ctx, event("b"), nil, h.now))
			before := h.state(turn)
			ok, err := h.s.Join(h.ctx, f, joined(turn.ID, 2, 3, "a", "b"))
			ke, is := errors.AsType[*sessions.KnownError](err)
			if !is || ok {
				h.t.Fatalf("joined=%v, error %v", ok, err)
			}
			h.same("named", ke.Events, events("b"))
			h.same("state", h.state(turn), before)
			h.same("known", h.known("a"), []bool{false})
		},
		"nothing joins a turn that is over, another's or a nested one": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			other, theirs := h.working("two")
			c := h.spawn(f, h.session(turn.Session), "c")
			o := nested(f, c.ID, "nested")
			must2(h.s.Open(h.ctx, f, o))
			h.touch("two", 2)
			h.finish(other, theirs.ID)
			for f, id := range map[sessions.Fence]string{f: "nested", other: theirs.ID} {
				h.is(failed(h.s.Join(h.ctx, f, joined(id, 2, 0, "late"))), sessions.ErrFenced)
			}
			for _, id := range []string{theirs.ID, "", "unknown"} {
				h.is(failed(h.s.Join(h.ctx, f, joined(id, 2, 0, "late"))), sessions.ErrFenced)
			}
			h.same("known", h.known("late"), []bool{false})
			h.same("read", h.mailbox("one").LastRead, uint64(1))
		},
	}.run(t, open)
}
