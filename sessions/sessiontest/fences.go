package sessiontest

import (
	"testing"

	"parley/costs"
	"parley/sessions"
)

// fencedWrite is one fenced method of the store, called with a fence.
type fencedWrite struct {
	name string
	call func(h *fixture, f sessions.Fence, turn sessions.Turn) error
}

// fencedWrites are all methods that take a fence, but for those that keep the
// money.
func fencedWrites() []fencedWrite {
	return []fencedWrite{
		{"reacquire", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			_, err := h.s.Reacquire(h.ctx, f, h.now)
			return err
		}},
		{"release", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			_, _, err := h.s.Release(h.ctx, f)
			return err
		}},
		{"handover", func(h *fixture, f sessions.Fence, _ sessions.Turn) error { return h.s.Handover(h.ctx, f) }},
		{"yield", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			h.touch("another", 1)
			_, err := h.s.Yield(h.ctx, f, h.now)
			return err
		}},
		{"comply", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			return h.s.ApplyControls(h.ctx, f, []string{"c1"}, 9, []sessions.Outgoing{reply("late", "")})
		}},
		{"open", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			_, _, err := h.s.Open(h.ctx, f, opening(f, 2))
			return err
		}},
		{"join", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			_, err := h.s.Join(h.ctx, f, joined(turn.ID, 2, 0, "late"))
			return err
		}},
		{"resume", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			_, err := h.s.Resume(h.ctx, f, h.now)
			return err
		}},
		{"skip", func(h *fixture, f sessions.Fence, _ sessions.Turn) error { return h.s.Skip(h.ctx, f, 2) }},
		{"answer", func(h *fixture, f sessions.Fence, _ sessions.Turn) error {
			_, err := h.s.Answer(h.ctx, f, sessions.Command{Seq: 2, Event: event("late"), Fresh: "fresh", Replies: []sessions.Outgoing{reply("late", "")}, At: h.now})
			return err
		}},
		{"append", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			return h.s.Append(h.ctx, f, turn.ID, said("late", "late"))
		}},
		{"post", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			return h.s.Post(h.ctx, f, turn.ID, reply("late", turn.ID))
		}},
		{"begin", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			_, err := h.s.Begin(h.ctx, f, turn.ID, 1, "late")
			return err
		}},
		{"reserve", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			return h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, call(turn.ID, 7, 1, 9))
		}},
		{"finish", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			_, _, err := h.s.Finish(h.ctx, f, ending(turn.ID))
			return err
		}},
		{"spawn", func(h *fixture, f sessions.Fence, turn sessions.Turn) error {
			_, _, err := h.s.Spawn(h.ctx, f, childOf(h.t, h.session(turn.Session), "late"))
			return err
		}},
	}
}

// state is everything that a write to chat one could change.
func (h *fixture) state(turn sessions.Turn) any {
	h.t.Helper()
	stored, err := h.s.Turn(h.ctx, turn.ID)
	h.ok(err)
	tree, err := h.s.Tree(h.ctx, turn.Session)
	h.ok(err)
	ds, err := h.s.Pending(h.ctx, "tg", 0, 100)
	h.ok(err)
	cs, err := h.s.Controls(h.ctx, turn.Token)
	h.ok(err)
	return []any{h.mailbox("one"), stored, tree, ds, cs, h.history(turn.Session), h.entries("")}
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
		t.Run(what+" changes nothing", func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, open(t))
			f, turn := h.working("one")
			h.touch("one", 2)
			_, err := h.s.Request(h.ctx, stop("one", "c1", 1))
			h.ok(err)
			before := h.state(turn)
			for _, w := range fencedWrites() {
				if err := w.call(h, forge(f), turn); err == nil {
					t.Errorf("%s was not refused", w.name)
				} else {
					h.is(err, sessions.ErrFenced)
				}
				h.same(w.name+" changed", h.state(turn), before)
			}
		})
	}
	cases{
		"nobody's mailbox refuses its last owner": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.ok(h.s.Handover(h.ctx, f))
			before := h.state(turn)
			for _, w := range fencedWrites() {
				if w.name == "handover" || w.name == "release" || w.name == "yield" {
					continue // repeats: they answer the same
				}
				h.is(w.call(h, f, turn), sessions.ErrFenced)
				h.same(w.name+" changed", h.state(turn), before)
			}
		},
		"a late settlement is booked without its messages": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			r := call(turn.ID, 1, 1, 100)
			h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, r))
			_, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			for range 2 {
				h.is(h.s.Settle(h.ctx, f, cost(r, 60), answered("late", "late")), sessions.ErrFenced)
			}
			s := h.session(turn.Session)
			h.same("money", []costs.Amount{s.Own, s.Subtree, s.Held}, []costs.Amount{60, 60, 0})
			h.same("history", len(h.history(turn.Session)), 1)
			got, err := h.s.Turn(h.ctx, turn.ID)
			h.ok(err)
			h.same("steps", got.Steps, 0)
		},
		"a late finish books its settlement and nothing else": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			r := call(turn.ID, 1, 1, 100)
			h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, r))
			_, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			e, st := ending(turn.ID), cost(r, 60)
			e.Settlement = &st
			_, _, err = h.s.Finish(h.ctx, f, e)
			h.is(err, sessions.ErrFenced)
			h.same("own", h.session(turn.Session).Own, costs.Amount(60))
			h.same("history", len(h.history(turn.Session)), 1)
			got, err := h.s.Turn(h.ctx, turn.ID)
			h.ok(err)
			h.same("state", got.State, sessions.Open)
		},
	}.run(t, open)
}
