package sessiontest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"parley/costs"
	"parley/sessions"
)

// fencedWrite is one fenced method of the store, called with a fence, and what it
// answers.
type fencedWrite struct {
	name string
	call func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error)
}

// both is the two answers of a method as one.
func both[A, B any](a A, b B, err error) (any, error) { return []any{a, b}, err }

// fencedWrites are all methods that take a fence, but for those that keep the
// money, as they are called on a mailbox that is ready.
func fencedWrites() []fencedWrite {
	return []fencedWrite{
		{"reacquire", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) {
			return h.s.Reacquire(h.ctx, f, h.now)
		}},
		{"release", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) { return both(h.s.Release(h.ctx, f)) }},
		{"handover", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) { return nil, h.s.Handover(h.ctx, f) }},
		{"yield", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) {
			h.touch("another", 1)
			return h.s.Yield(h.ctx, f, h.now)
		}},
		{"comply", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) {
			return nil, h.s.ApplyControls(h.ctx, f, []string{"c1"}, 9, []sessions.Outgoing{reply("late", "")})
		}},
		{"open", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) {
			return both(h.s.Open(h.ctx, f, opening(f, 1)))
		}},
		{"open with a call", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			o := opening(f, 1)
			o.Call = &sessions.OpeningCall{Charge: charged(turn), Reservation: call(turn.ID, 7, 1, 9)}
			return both(h.s.Open(h.ctx, f, o))
		}},
		{"join", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return h.s.Join(h.ctx, f, joined(turn.ID, 2, 0, "late"))
		}},
		{"resume", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) { return h.s.Resume(h.ctx, f, h.now) }},
		{"skip", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) { return nil, h.s.Skip(h.ctx, f, 2) }},
		{"answer", func(h *fixture, f sessions.Fence, _ sessions.Turn) (any, error) {
			return h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("late"), Fresh: "fresh", Replies: []sessions.Outgoing{reply("late", "")}, At: h.now})
		}},
		{"answer that resumes", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("late"), Resume: turn.Session, Replies: []sessions.Outgoing{reply("late", "")}, At: h.now})
		}},
		{"append", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return nil, h.s.Append(h.ctx, f, turn.ID, said("late", "late"), said("later", "later"))
		}},
		{"post", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return nil, h.s.Post(h.ctx, f, turn.ID, reply("late", turn.ID))
		}},
		{"begin", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return h.s.Begin(h.ctx, f, turn.ID, 1, "late")
		}},
		{"reserve", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return nil, h.s.Reserve(h.ctx, f, charged(turn, sessions.Scope{Kind: "global", Limit: 10}), call(turn.ID, 7, 1, 9))
		}},
		{"finish", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			return h.s.Finish(h.ctx, f, ending(turn.ID))
		}},
		{"spawn", func(h *fixture, f sessions.Fence, turn sessions.Turn) (any, error) {
			child, _, err := h.s.Spawn(h.ctx, f, childOf(h.t, h.session(turn.Session), "late"))
			return child, err
		}},
	}
}

// ready is a mailbox with an open turn, a message that waits and a control request.
func (h *fixture) ready() (sessions.Fence, sessions.Turn) {
	h.t.Helper()
	f, turn := h.working("one")
	h.touch("one", 2)
	must(h.s.Request(h.ctx, stop("one", "c1", 1)))
	return f, turn
}

// state is everything that a write to chat one could change.
func (h *fixture) state(turn sessions.Turn) any {
	h.t.Helper()
	stored := must(h.s.Turn(h.ctx, turn.ID))
	tree := must(h.s.Tree(h.ctx, turn.Session))
	ds := must(h.s.Pending(h.ctx, "tg", 0, 100))
	cs := must(h.s.Controls(h.ctx, turn.Token))
	known := h.known("late", turnID(turn.Token, 1), "a")
	_, hashed := must2(h.s.LastTextHash(h.ctx, wording("m2", "")))
	return []any{h.mailbox("one"), stored, tree, ds, cs, h.history(turn.Session), h.entries(""), known, hashed}
}

func fences(t *testing.T, open opener) {
	wrong := map[string]func(sessions.Fence) sessions.Fence{
		"a stale epoch":   func(f sessions.Fence) sessions.Fence { f.Epoch--; return f },
		"a future epoch":  func(f sessions.Fence) sessions.Fence { f.Epoch++; return f },
		"a foreign nonce": func(f sessions.Fence) sessions.Fence { f.Nonce = "somebody"; return f },
		"no nonce":        func(f sessions.Fence) sessions.Fence { f.Nonce = ""; return f },
		"no such mailbox": func(f sessions.Fence) sessions.Fence { f.Token = "00000000000000000000000000000000"; return f },
	}
	for what, forge := range wrong {
		cases{what + " changes nothing": func(h *fixture) {
			f, turn := h.ready()
			before := h.state(turn)
			for _, w := range fencedWrites() {
				if err := failed(w.call(h, forge(f), turn)); !errors.Is(err, sessions.ErrFenced) {
					h.t.Errorf("%s: got error %v", w.name, err)
				}
				h.same(w.name+" changed", h.state(turn), before)
			}
		}}.run(t, open)
	}
	turnCases{
		"nobody's mailbox refuses its last owner": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.ok(h.s.Handover(h.ctx, f))
			before := h.state(turn)
			for _, w := range fencedWrites() {
				if w.name == "handover" || w.name == "release" || w.name == "yield" {
					continue // repeats: they answer the same
				}
				h.is(failed(w.call(h, f, turn)), sessions.ErrFenced)
				h.same(w.name+" changed", h.state(turn), before)
			}
		},
		"a late settlement is booked without its messages": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 100))
			must(h.s.Reacquire(h.ctx, f, h.now))
			for range 2 {
				h.is(h.s.Settle(h.ctx, f, cost(r, 60), answered("late", "late")), sessions.ErrFenced)
			}
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{60, 60, 0})
			h.same("history", len(h.history(turn.Session)), 1)
			h.same("steps", must(h.s.Turn(h.ctx, turn.ID)).Steps, 0)
		},
		"a late finish books its settlement and nothing else": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			r := h.reserve(f, charged(turn), call(turn.ID, 1, 1, 100))
			must(h.s.Reacquire(h.ctx, f, h.now))
			e, st := ending(turn.ID), cost(r, 60)
			e.Settlement = &st
			h.is(failed(h.s.Finish(h.ctx, f, e)), sessions.ErrFenced)
			h.same("own", h.session(turn.Session).Own, costs.Amount(60))
			h.same("history", len(h.history(turn.Session)), 1)
			h.same("state", must(h.s.Turn(h.ctx, turn.ID)).State, sessions.Open)
		},
	}.run(t, open)
}

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
			h.is(failed(h.s.Finish(h.ctx, m.Fence(), ending(turn.ID))), sessions.ErrFenced)
		},
		"a finish whose answer was lost gives nobody the fence of a later owner": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.touch("one", 2) // more is owed: the mailbox is not released
			h.same("released", must(h.s.Finish(h.ctx, f, ending(turn.ID))).Released, false)
			m := must(h.s.Finish(h.ctx, f, ending(turn.ID))).Mailbox
			h.same("fence", m.Fence(), f)
			h.ok(h.s.Handover(h.ctx, f))
			h.alive(bob)
			h.take(bob, "one", 2)
			h.is(failed(h.s.Finish(h.ctx, f, ending(turn.ID))), sessions.ErrFenced)
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
		return func() (any, error) { return h.s.Finish(h.ctx, f, ending(turn.ID)) }
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
	"end of a lease": func(h *fixture) func() (any, error) {
		h.working("one")
		until, now := must(h.s.Lease(h.ctx, h.ann)), h.now.Add(time.Second)
		return func() (any, error) { return both(h.s.EndLease(h.ctx, h.ann, until, now)) }
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
