package sessiontest

import (
	"testing"

	"parley/costs"
	"parley/sessions"
)

// repeats calls each write a second time, as after a lost answer.
func repeats(t *testing.T, open opener) {
	type answer struct {
		first, again any
	}
	both := func(h *fixture, f func() any) answer {
		h.t.Helper()
		return answer{f(), f()}
	}
	pair := func(h *fixture, a, b any, err error) any {
		h.t.Helper()
		h.ok(err)
		return []any{a, b}
	}
	steps := map[string]func(h *fixture) answer{
		"reacquire": func(h *fixture) answer {
			f, _ := h.working("one")
			return both(h, func() any {
				m, err := h.s.Reacquire(h.ctx, f, h.now)
				return pair(h, m, nil, err)
			})
		},
		"release": func(h *fixture) answer {
			m := h.take(h.ann, "one", 1)
			h.ok(h.s.Skip(h.ctx, m.Fence(), 1))
			return both(h, func() any {
				m, released, err := h.s.Release(h.ctx, m.Fence())
				return pair(h, m, released, err)
			})
		},
		"handover": func(h *fixture) answer {
			f, _ := h.working("one")
			return both(h, func() any {
				return pair(h, nil, nil, h.s.Handover(h.ctx, f))
			})
		},
		"yield": func(h *fixture) answer {
			f, _ := h.working("one")
			h.touch("two", 1)
			return both(h, func() any {
				yielded, err := h.s.Yield(h.ctx, f, h.now)
				return pair(h, yielded, nil, err)
			})
		},
		"comply": func(h *fixture) answer {
			_, err := h.s.Request(h.ctx, stop("one", "c1", 1))
			h.ok(err)
			f := h.take(h.ann, "one", 1).Fence()
			return both(h, func() any {
				return pair(h, nil, nil, h.s.ApplyControls(h.ctx, f, []string{"c1"}, 1, []sessions.Outgoing{reply("r", "")}))
			})
		},
		"open": func(h *fixture) answer {
			f := h.take(h.ann, "one", 1).Fence()
			return both(h, func() any {
				turn, opened, err := h.s.Open(h.ctx, f, opening(f, 1))
				return pair(h, turn, opened, err)
			})
		},
		"join": func(h *fixture) answer {
			f, turn := h.working("one")
			h.touch("one", 2)
			return both(h, func() any {
				ok, err := h.s.Join(h.ctx, f, joined(turn.ID, 2, 0, "b"))
				return pair(h, ok, nil, err)
			})
		},
		"answer": func(h *fixture) answer {
			f := h.take(h.ann, "one", 1).Fence()
			return both(h, func() any {
				done, err := h.s.Answer(h.ctx, f, sessions.Command{Seq: 1, Event: event("e"), Fresh: "fresh", Replies: []sessions.Outgoing{reply("r", "")}, At: h.now})
				return pair(h, done, nil, err)
			})
		},
		"append": func(h *fixture) answer {
			f, turn := h.working("one")
			return both(h, func() any { return pair(h, nil, nil, h.s.Append(h.ctx, f, turn.ID, said("a", "a"), said("b", "b"))) })
		},
		"post": func(h *fixture) answer {
			f, turn := h.working("one")
			return both(h, func() any { return pair(h, nil, nil, h.s.Post(h.ctx, f, turn.ID, reply("r", turn.ID))) })
		},
		"reserve": func(h *fixture) answer {
			f, turn := h.working("one")
			c := sessions.Charge{Session: turn.Session, Turn: turn.ID, Scopes: []sessions.Scope{{Kind: "global", Limit: 10}}}
			return both(h, func() any { return pair(h, nil, nil, h.s.Reserve(h.ctx, f, c, call(turn.ID, 1, 1, 9))) })
		},
		"settle": func(h *fixture) answer {
			f, turn := h.working("one")
			r := call(turn.ID, 1, 1, 9)
			h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, r))
			return both(h, func() any { return pair(h, nil, nil, h.s.Settle(h.ctx, f, cost(r, 5), answered("a", "a"))) })
		},
		"reserve after settle": func(h *fixture) answer {
			f, turn := h.working("one")
			c, r := sessions.Charge{Session: turn.Session, Turn: turn.ID}, call(turn.ID, 1, 1, 9)
			h.ok(h.s.Reserve(h.ctx, f, c, r))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 5), answered("a", "a")))
			return both(h, func() any { return pair(h, nil, nil, h.s.Reserve(h.ctx, f, c, r)) })
		},
		"finish that releases": func(h *fixture) answer {
			f, turn := h.working("one")
			return both(h, func() any {
				m, released := h.finish(f, turn.ID)
				return []any{m, released}
			})
		},
		"finish that goes on": func(h *fixture) answer {
			f, turn := h.working("one")
			h.touch("one", 2)
			return both(h, func() any {
				m, released := h.finish(f, turn.ID)
				return []any{m, released}
			})
		},
		"skip": func(h *fixture) answer {
			f := h.take(h.ann, "one", 2).Fence()
			return both(h, func() any { return pair(h, nil, nil, h.s.Skip(h.ctx, f, 1)) })
		},
		"touch": func(h *fixture) answer {
			return both(h, func() any { return h.touch("one", 3) })
		},
		"advance": func(h *fixture) answer {
			_, err := h.s.Notice(h.ctx, event("n"), []sessions.Outgoing{reply("r", "")}, h.now)
			h.ok(err)
			return both(h, func() any {
				return pair(h, nil, nil, h.s.Advance(h.ctx, "r", sessions.Progress{
					Bodies: [][]byte{[]byte("1"), []byte("2")},
					Marks:  []sessions.Mark{{Index: 0, From: sessions.Queued, To: sessions.Sending, At: noon}},
				}))
			})
		},
		"preview": func(h *fixture) answer {
			_, turn := h.working("one")
			return both(h, func() any { return pair(h, nil, nil, h.s.Preview(h.ctx, turn.ID, sessions.ShownPreview("p1"))) })
		},
		"heartbeat": func(h *fixture) answer {
			return both(h, func() any { return pair(h, nil, nil, h.s.Heartbeat(h.ctx, h.ann, h.now.Add(lease))) })
		},
		"start of a generation": func(h *fixture) answer {
			h.touch("one", 1)
			return both(h, func() any {
				lost, err := h.s.StartGeneration(h.ctx, "g1")
				return pair(h, lost, nil, err)
			})
		},
	}
	for name, step := range steps {
		t.Run("a repeated "+name+" answers the same and changes nothing", func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, open(t))
			a := step(h)
			h.same("answer", a.again, a.first)
			h.ok(h.s.Check(h.ctx))
			ds, err := h.s.Pending(h.ctx, "tg", 0, 10)
			h.ok(err)
			if len(ds) > 1 {
				t.Fatalf("%d replies", len(ds))
			}
			if m, err := h.s.Mailbox(h.ctx, keyOf(t, "one").Token()); err == nil {
				history, seen := h.history(m.Session), map[string]bool{}
				for _, id := range history {
					if seen[id] {
						t.Fatalf("message %s stands twice in %v", id, history)
					}
					seen[id] = true
				}
			}
		})
	}
	cases{
		"a repeated spawn finds the child": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			root := h.session(turn.Session)
			made := h.spawn(f, root, "c")
			got, again, err := h.s.Spawn(h.ctx, f, childOf(h.t, root, "c"))
			h.ok(err)
			h.same("made", again, false)
			h.same("child", got, made)
		},
		"a finish is not repeated by a later owner": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.finish(f, turn.ID)
			m := h.take(h.ann, "one", 2)
			_, _, err := h.s.Finish(h.ctx, m.Fence(), ending(turn.ID))
			h.is(err, sessions.ErrFenced)
		},
		"a finish whose answer was lost gives nobody the fence of a later owner": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.touch("one", 2) // more is owed: the mailbox is not released
			_, released, err := h.s.Finish(h.ctx, f, ending(turn.ID))
			h.ok(err)
			h.same("released", released, false)
			m, _, err := h.s.Finish(h.ctx, f, ending(turn.ID))
			h.ok(err)
			h.same("fence", m.Fence(), f)
			h.ok(h.s.Handover(h.ctx, f))
			bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
			h.alive(bob)
			h.take(bob, "one", 2)
			_, _, err = h.s.Finish(h.ctx, f, ending(turn.ID))
			h.is(err, sessions.ErrFenced)
		},
		"a second entry of one id books nothing": func(_ *testing.T, h *fixture) {
			f, turn := h.working("one")
			r := call(turn.ID, 1, 1, 90)
			h.ok(h.s.Reserve(h.ctx, f, sessions.Charge{Session: turn.Session, Turn: turn.ID}, r))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 50)))
			h.ok(h.s.Settle(h.ctx, f, cost(r, 70)))
			h.same("own", h.session(turn.Session).Own, costs.Amount(50))
			h.same("rows", len(h.entries("")), 1)
		},
	}.run(t, open)
}
