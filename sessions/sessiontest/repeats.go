package sessiontest

import (
	"maps"
	"slices"
	"testing"

	"parley/costs"
	"parley/sessions"
)

// repeats calls each write a second time, as after a lost answer.
func repeats(t *testing.T, open opener) {
	repeated := maps.Clone(unfencedWrites)
	for _, w := range fencedWrites() {
		repeated[w.name] = func(h *fixture) func() (any, error) {
			f, turn := h.ready()
			return func() (any, error) { return w.call(h, f, turn) }
		}
	}
	for name, prepare := range repeated {
		cases{"a repeated " + name + " answers the same and changes nothing": func(h *fixture) {
			write := prepare(h)
			first := must(write())
			h.same("answer", must(write()), first)
			h.nothingTwice()
		}}.run(t, open)
	}
	turnCases{
		"a repeated spawn finds the child": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			root := h.session(turn.Session)
			made := h.spawn(f, root, "c")
			got, again := must2(h.s.Spawn(h.ctx, f, childOf(h.t, root, "c")))
			h.same("made", again, false)
			h.same("child", got, made)
		},
		"a finish is not repeated by a later owner": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.finish(f, turn.ID)
			m := h.take(h.ann, "one", 2)
			h.is(failed2(h.s.Finish(h.ctx, m.Fence(), ending(turn.ID))), sessions.ErrFenced)
		},
		"a finish whose answer was lost gives nobody the fence of a later owner": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2) // more is owed: the mailbox is not released
			h.same("released", second(must2(h.s.Finish(h.ctx, f, ending(turn.ID)))), false)
			m, _ := must2(h.s.Finish(h.ctx, f, ending(turn.ID)))
			h.same("fence", m.Fence(), f)
			h.ok(h.s.Handover(h.ctx, f))
			bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
			h.alive(bob)
			h.take(bob, "one", 2)
			h.is(failed2(h.s.Finish(h.ctx, f, ending(turn.ID))), sessions.ErrFenced)
		},
		"a second entry of one id books nothing": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 90))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 50)))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 70)))
			h.same("own", h.session(turn.Session).Own, costs.Amount(50))
			h.same("rows", len(h.entries("")), 1)
		},
	}.run(t, open)
}

// unfencedWrites are writes without a fence, or with one on another state than that of
// the fenced ones.
var unfencedWrites = map[string]func(h *fixture) func() (any, error){
	"release of what is owed nothing": func(h *fixture) func() (any, error) {
		f := h.take(h.ann, "one", 1).Fence()
		h.ok(h.s.Skip(h.ctx, f, 1))
		return func() (any, error) { return both(h.s.Release(h.ctx, f)) }
	},
	"opening": func(h *fixture) func() (any, error) {
		f := h.take(h.ann, "one", 1).Fence()
		return func() (any, error) { return both(h.s.Open(h.ctx, f, opening(f, 1))) }
	},
	"settle": func(h *fixture) func() (any, error) {
		f, turn := h.working("one")
		r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 9))
		return func() (any, error) { return nil, h.s.Settle(h.ctx, f, cost(r, 5), answered("a", "a")) }
	},
	"reserve after settle": func(h *fixture) func() (any, error) {
		f, turn := h.working("one")
		r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 9))
		h.ok(h.s.Settle(h.ctx, f, cost(r, 5), answered("a", "a")))
		return func() (any, error) { return nil, h.s.Reserve(h.ctx, f, charged(turn), r) }
	},
	"finish that releases": func(h *fixture) func() (any, error) {
		f, turn := h.working("one")
		return func() (any, error) { return both(h.s.Finish(h.ctx, f, ending(turn.ID))) }
	},
	"touch": func(h *fixture) func() (any, error) { return func() (any, error) { return h.touch("one", 3), nil } },
	"advance": func(h *fixture) func() (any, error) {
		h.queued(reply("r", ""))
		return func() (any, error) {
			return nil, h.s.Advance(h.ctx, "r", sessions.Progress{
				Bodies: [][]byte{[]byte("1"), []byte("2")},
				Marks:  []sessions.Mark{{Index: 0, From: sessions.Queued, To: sessions.Sending, At: noon}},
			})
		}
	},
	"preview": func(h *fixture) func() (any, error) {
		_, turn := h.working("one")
		return func() (any, error) { return nil, h.s.Preview(h.ctx, turn.ID, sessions.ShownPreview("p1")) }
	},
	"heartbeat": func(h *fixture) func() (any, error) {
		return func() (any, error) { return nil, h.s.Heartbeat(h.ctx, h.ann, h.now.Add(lease)) }
	},
	"start of a generation": func(h *fixture) func() (any, error) {
		h.touch("one", 1)
		return func() (any, error) { return h.s.StartGeneration(h.ctx, "g1") }
	},
}

// nothingTwice ends the test when an answer or a message stands twice.
func (h *fixture) nothingTwice() {
	h.t.Helper()
	h.ok(h.s.Check(h.ctx))
	if ids := h.pending(); len(ids) > 1 {
		h.t.Fatalf("replies %v", ids)
	}
	m, err := h.s.Mailbox(h.ctx, keyOf(h.t, "one").Token())
	if err != nil {
		return // the write needs none
	}
	ids := slices.Sorted(slices.Values(h.history(m.Session)))
	h.same("messages, each once", ids, slices.Compact(slices.Clone(ids)))
}
