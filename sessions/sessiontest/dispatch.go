package sessiontest

import (
	"testing"
	"time"

	"parley/sessions"
)

func dispatch(t *testing.T, open opener) {
	cases{
		"the first message makes a mailbox with a new session": func(h *fixture) {
			m := h.touch("one", 3)
			k := keyOf(h.t, "one")
			h.same("mailbox", m, sessions.Mailbox{Token: k.Token(), Key: k, Session: m.Session, LastSeen: 3})
			s := h.session(m.Session)
			h.same("session", s, sessions.Session{ID: m.Session, Key: k, Root: m.Session, Role: "main", CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt})
			h.same("looked up", h.mailbox("one"), m)
		},
		"an older sequence changes nothing": func(h *fixture) {
			m := h.touch("one", 9)
			h.same("mailbox", h.touch("one", 4), m)
			h.same("mailbox", h.touch("one", 0), m)
		},
		"whoever finds it free owns it under a higher epoch": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			if m.Owner != h.ann || m.Epoch < 1 || m.Attempts != 1 {
				h.t.Fatalf("taken as %+v", m)
			}
			h.alive(bob)
			other, got := h.try(bob, "one", 2)
			h.same("got, owner, epoch, last seen", []any{got, other.Owner, other.Epoch, other.LastSeen}, []any{false, h.ann, m.Epoch, uint64(2)})
		},
		"who takes may be told before it is durable, once, and of nothing else": func(h *fixture) {
			touch := func(seq uint64, take bool) (m sessions.Mailbox, got bool, told []sessions.Mailbox) {
				k := keyOf(h.t, "one")
				early := make(chan sessions.Mailbox, 2)
				m, got = must2(h.s.Touch(h.ctx, sessions.Touch{
					Token: k.Token(), Key: k, Seq: seq, By: h.ann, Take: take, Now: h.now, Taken: func(m sessions.Mailbox) { early <- m },
				}))
				close(early)
				for m := range early {
					told = append(told, m)
				}
				return m, got, told
			}
			_, got, told := touch(1, false)
			h.same("not asked for: got, told", []any{got, len(told)}, []any{false, 0})
			m, got, told := touch(2, true)
			h.same("got", got, true)
			if len(told) > 1 || len(told) == 1 && told[0].Fence() != m.Fence() {
				h.t.Errorf("told %+v, took %+v", told, m)
			}
			_, got, told = touch(3, true)
			h.same("owned: got, told", []any{got, len(told)}, []any{false, 0})
		},
		"a mailbox that is owed nothing is not taken": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.ok(h.s.Skip(h.ctx, m.Fence(), 1))
			h.same("released", second(must2(h.s.Release(h.ctx, m.Fence()))), true)
			h.same("got", second(h.try(h.ann, "one", 0)), false)
			h.same("got", second(h.try(h.ann, "one", 1)), false)
		},
		"sequence 0 takes what is owed": func(h *fixture) {
			h.touch("one", 5)
			h.same("last seen", h.take(h.ann, "one", 0).LastSeen, uint64(5))
		},
		"a repeated take answers that the owner has it": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			again, got := h.try(h.ann, "one", 1)
			h.same("got", got, false)
			h.same("mailbox", again, m)
		},
		"an owner whose lease ended is not robbed by itself": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.now = h.now.Add(2 * lease)
			again, got := h.try(h.ann, "one", 2)
			h.same("got, epoch", []any{got, again.Epoch}, []any{false, m.Epoch})
		},
		"an owner whose lease ended is followed by another": func(h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.now = h.now.Add(lease)
			h.alive(bob)
			n := h.take(bob, "one", 1)
			if n.Epoch <= m.Epoch || n.Attempts != 2 {
				h.t.Fatalf("%+v after %+v", n, m)
			}
			h.is(h.s.Skip(h.ctx, m.Fence(), 1), sessions.ErrFenced)
		},
		"release needs that nothing is owed": func(h *fixture) {
			m := h.take(h.ann, "one", 2)
			got, released := must2(h.s.Release(h.ctx, m.Fence()))
			h.same("released, has work", []any{released, got.HasWork()}, []any{false, true})
			h.ok(h.s.Skip(h.ctx, m.Fence(), 2))
			got, released = must2(h.s.Release(h.ctx, m.Fence()))
			h.same("released, owner, attempts, epoch", []any{released, got.Owner, got.Attempts, got.Epoch}, []any{true, sessions.Worker{}, 0, m.Epoch})
		},
		"mailboxes lists every one until it is told to stop": func(h *fixture) {
			want := map[string]bool{}
			for i := range 450 {
				want[h.touch("chat-"+time.Duration(i).String(), 1).Token] = true
			}
			seen := map[string]bool{}
			h.ok(h.s.Mailboxes(h.ctx, func(m sessions.Mailbox) bool {
				seen[m.Token] = true
				return true
			}))
			h.same("tokens", seen, want)
			n := 0
			h.ok(h.s.Mailboxes(h.ctx, func(sessions.Mailbox) bool { n++; return n < 7 }))
			h.same("calls", n, 7)
		},
		"what is not there is ErrNotFound": func(h *fixture) {
			for _, err := range []error{
				failed(h.s.Mailbox(h.ctx, "nobody")), failed(h.s.Session(h.ctx, "nobody")), failed(h.s.Tree(h.ctx, "nobody")),
				failed(h.s.Messages(h.ctx, "nobody")), failed(h.s.Turn(h.ctx, "nobody")), failed(h.s.Delivery(h.ctx, "nobody")),
				h.s.Advance(h.ctx, "nobody", sessions.Progress{Close: true}), h.s.Preview(h.ctx, "nobody", sessions.ShownPreview("m")),
				failed(h.s.Previewed(h.ctx, "nobody")),
			} {
				h.is(err, sessions.ErrNotFound)
			}
		},
	}.run(t, open)
	turnCases{
		"reacquire gives a new epoch and counts an attempt": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			m := must(h.s.Reacquire(h.ctx, f, h.now))
			h.same("epoch, attempts, of the turn, owner", []any{m.Epoch, m.Attempts, m.Turn.Attempts, m.Owner}, []any{f.Epoch + 1, 2, 2, h.ann})
			h.is(h.s.Append(h.ctx, f, turn.ID, said("late", "late")), sessions.ErrFenced)
			h.ok(h.s.Append(h.ctx, m.Fence(), turn.ID, said("good", "good")))
		},
		"a handover leaves the work and gives the attempt back": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.ok(h.s.Handover(h.ctx, f))
			m := h.mailbox("one")
			h.same("owner, attempts, of the turn, its id", []any{m.Owner, m.Attempts, m.Turn.Attempts, m.Turn.ID}, []any{sessions.Worker{}, 0, 0, turn.ID})
			n := h.take(h.ann, "one", 0)
			h.same("epoch, attempts, attempts", []any{n.Epoch, n.Attempts, n.Turn.Attempts}, []any{f.Epoch + 1, 1, 1})
		},
	}.run(t, open)
}

func workers(t *testing.T, open opener) {
	cases{
		"recover finds what is owed and nobody has": func(h *fixture) {
			h.touch("one", 1)
			h.touch("two", 1)
			h.take(h.ann, "three", 1)
			h.alive(bob)
			ms := must(h.s.Recover(h.ctx, bob, h.now, 10))
			h.same("how many, owner, epoch, attempts", []any{len(ms), ms[0].Owner, ms[0].Epoch, ms[0].Attempts}, []any{2, bob, int64(1), 1})
			held := must(h.s.Held(h.ctx, bob))
			h.same("held", len(held), 2)
			h.same("left", len(must(h.s.Recover(h.ctx, bob, h.now, 10))), 0)
		},
		"recover obeys its limit": func(h *fixture) {
			for _, p := range []string{"one", "two", "three"} {
				h.touch(p, 1)
			}
			for _, want := range []int{2, 1, 0} {
				h.same("found", len(must(h.s.Recover(h.ctx, h.ann, h.now, 2))), want)
			}
		},
		"a worker whose lease ended takes nothing until it lives again": func(h *fixture) {
			h.alive(bob)
			h.take(bob, "left by bob", 1)
			h.touch("free", 1)
			h.now = h.now.Add(lease)
			for _, peer := range []string{"free", "left by bob", "new"} {
				before := h.touch(peer, 1)
				m, got := h.try(h.ann, peer, 2)
				h.same("got, owner, epoch, last seen", []any{got, m.Owner, m.Epoch, m.LastSeen}, []any{false, before.Owner, before.Epoch, uint64(2)})
				h.same("looked up", h.mailbox(peer), m)
			}
			ms := must(h.s.Recover(h.ctx, h.ann, h.now, 10))
			h.same("found by who does not live", len(ms), 0)
			h.alive(h.ann)
			h.take(h.ann, "free", 2)
			ms = must(h.s.Recover(h.ctx, h.ann, h.now, 10))
			h.same("found by who lives again", len(ms), 2)
		},
		"a worker that never said that it lives takes nothing": func(h *fixture) {
			h.touch("one", 1)
			if m, got := h.try(bob, "one", 2); got || m.Owner != (sessions.Worker{}) || m.LastSeen != 2 {
				h.t.Fatalf("got=%v %+v", got, m)
			}
			h.same("found", len(must(h.s.Recover(h.ctx, bob, h.now, 10))), 0)
			h.alive(bob)
			h.take(bob, "one", 2)
		},
		"a worker that is gone is refused what it would recover": func(h *fixture) {
			h.touch("one", 1)
			h.ok(h.s.Leave(h.ctx, h.ann))
			h.same("got", second(h.try(h.ann, "one", 1)), false)
			h.is(failed(h.s.Recover(h.ctx, h.ann, h.now, 10)), sessions.ErrFenced)
		},
		"what a worker leaves may be taken at once": func(h *fixture) {
			h.working("one")
			h.ok(h.s.Leave(h.ctx, h.ann))
			h.ok(h.s.Leave(h.ctx, h.ann))
			h.alive(bob)
			h.same("attempts", h.take(bob, "one", 0).Attempts, 2)
		},
		"a lease says until when its worker lives": func(h *fixture) {
			h.same("of ann", must(h.s.Lease(h.ctx, h.ann)), h.now.Add(lease))
			h.is(failed(h.s.Lease(h.ctx, bob)), sessions.ErrNotFound)
			h.alive(bob)
			h.ok(h.s.Leave(h.ctx, bob))
			h.is(failed(h.s.Lease(h.ctx, bob)), sessions.ErrNotFound)
		},
		"a lease that was renewed, or is over, is not ended": func(h *fixture) {
			h.working("one")
			until := must(h.s.Lease(h.ctx, h.ann))
			h.now = h.now.Add(time.Second)
			h.alive(h.ann) // while somebody judges
			owed, ended := must2(h.s.EndLease(h.ctx, h.ann, until, h.now))
			h.same("owed, ended, lease", []any{owed, ended, must(h.s.Lease(h.ctx, h.ann))}, []any{0, false, h.now.Add(lease)})
			h.now = h.now.Add(lease)
			h.same("over", second(must2(h.s.EndLease(h.ctx, h.ann, h.now, h.now))), false)
			h.same("of a stranger", second(must2(h.s.EndLease(h.ctx, bob, h.now.Add(lease), h.now))), false)
			h.ok(h.s.Leave(h.ctx, h.ann))
			h.same("of one that is gone", second(must2(h.s.EndLease(h.ctx, h.ann, h.now.Add(lease), h.now))), false)
			h.is(failed(h.s.Lease(h.ctx, h.ann)), sessions.ErrNotFound)
		},
		"what waited longest is found first": func(h *fixture) {
			for _, p := range []string{"c", "a", "b"} {
				h.touch(p, 1)
				h.now = h.now.Add(time.Second)
			}
			h.touch("c", 2) // waits since its first message
			h.same("first", must(h.s.Recover(h.ctx, h.ann, h.now, 1))[0].Key, keyOf(h.t, "c"))
		},
	}.run(t, open)
	turnCases{
		"a worker that died is followed after its lease": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.now = h.now.Add(lease - time.Millisecond)
			h.alive(bob)
			ms := must(h.s.Recover(h.ctx, bob, h.now, 10))
			h.same("found while ann lives", len(ms), 0)
			h.now = h.now.Add(time.Millisecond)
			ms = must(h.s.Recover(h.ctx, bob, h.now, 10))
			h.same("found", len(ms), 1)
			h.same("epoch, attempts, turn", []any{ms[0].Epoch, ms[0].Attempts, ms[0].Turn.ID, ms[0].Turn.Attempts}, []any{f.Epoch + 1, 2, turn.ID, 2})
		},
		"a lease that is ended is over for all but its worker's next heartbeat": func(h *fixture, f sessions.Fence, turn sessions.Turn) {
			h.alive(bob)
			until := must(h.s.Lease(h.ctx, h.ann))
			h.now = h.now.Add(time.Millisecond)
			for range 2 { // the answer was lost
				owed, ended := must2(h.s.EndLease(h.ctx, h.ann, until, h.now))
				h.same("owed, ended", []any{owed, ended}, []any{1, true})
			}
			h.same("by another, a moment later", second(must2(h.s.EndLease(h.ctx, h.ann, until, h.now.Add(time.Millisecond)))), false)
			h.same("lease", must(h.s.Lease(h.ctx, h.ann)), h.now)
			ms := must(h.s.Recover(h.ctx, bob, h.now, 10))
			h.same("found", len(ms), 1)
			h.same("epoch, attempts, turn", []any{ms[0].Epoch, ms[0].Attempts, ms[0].Turn.ID, ms[0].Turn.Attempts}, []any{f.Epoch + 1, 2, turn.ID, 2})
			// It was a wrong guess.
			h.is(failed(h.s.Finish(h.ctx, f, ending(turn.ID))), sessions.ErrFenced)
			h.touch("two", 1)
			h.same("taken before it has spoken", second(h.try(h.ann, "two", 1)), false)
			h.alive(h.ann)
			h.take(h.ann, "two", 1)
			h.same("lease", must(h.s.Lease(h.ctx, h.ann)), h.now.Add(lease))
			h.is(failed(h.s.Finish(h.ctx, f, ending(turn.ID))), sessions.ErrFenced)
		},
		"a worker that started anew is dead in its old form": func(h *fixture, f sessions.Fence, _ sessions.Turn) {
			reborn := sessions.Worker{Name: h.ann.Name, Nonce: "ann-2"}
			h.alive(reborn)
			ms := must(h.s.Recover(h.ctx, reborn, h.now, 10))
			h.same("how many, epoch", []any{len(ms), ms[0].Epoch}, []any{1, f.Epoch + 1})
			h.is(h.s.Heartbeat(h.ctx, h.ann, h.now.Add(lease)), sessions.ErrFenced)
			h.touch("two", 1)
			h.same("got", second(h.try(h.ann, "two", 1)), false)
		},
		"a worker whose lease ended may reacquire what nobody took since": func(h *fixture, f sessions.Fence, _ sessions.Turn) {
			h.now = h.now.Add(2 * lease)
			for range 2 {
				m := must(h.s.Reacquire(h.ctx, f, h.now))
				h.same("owner, epoch, attempts", []any{m.Owner, m.Epoch, m.Attempts}, []any{h.ann, f.Epoch + 1, 2})
			}
		},
		"an owner's work without a message is found": func(h *fixture, f sessions.Fence, _ sessions.Turn) {
			h.ok(h.s.Handover(h.ctx, f))
			h.same("found", len(must(h.s.Recover(h.ctx, h.ann, h.now, 10))), 1)
		},
	}.run(t, open)
}

func generations(t *testing.T, open opener) {
	cases{
		"there is none at first": func(h *fixture) {
			name, highest := must2(h.s.Generation(h.ctx))
			h.same("generation", []any{name, highest}, []any{"", uint64(0)})
		},
		"it knows the highest sequence": func(h *fixture) {
			must(h.s.StartGeneration(h.ctx, "g1"))
			h.touch("one", 7)
			h.touch("two", 12)
			h.touch("one", 9)
			name, highest := must2(h.s.Generation(h.ctx))
			h.same("generation", []any{name, highest}, []any{"g1", uint64(12)})
		},
		"another log starts again from zero": func(h *fixture) {
			must(h.s.StartGeneration(h.ctx, "g1"))
			f, turn := h.working("one") // read, with an open turn
			h.touch("two", 8)           // owed
			h.touch("one", 3)           // owed
			for range 2 {
				lost := must(h.s.StartGeneration(h.ctx, "g2"))
				h.same("lost", lost, 2)
			}
			m := h.mailbox("one")
			h.same("last seen, last read, turn, fence", []any{m.LastSeen, m.LastRead, m.Turn.ID, m.Fence()}, []any{uint64(0), uint64(0), turn.ID, f})
			h.same("has work", h.mailbox("two").HasWork(), false)
			name, highest := must2(h.s.Generation(h.ctx))
			h.same("generation", []any{name, highest}, []any{"g2", uint64(0)})
			if m := h.touch("two", 1); !m.HasWork() || m.LastSeen != 1 {
				h.t.Fatalf("%+v", m)
			}
		},
		"what another log has waits, also where all of the old one was read": func(h *fixture) {
			must(h.s.StartGeneration(h.ctx, "g1"))
			h.ok(h.s.Skip(h.ctx, h.take(h.ann, "one", 7).Fence(), 7))
			must(h.s.StartGeneration(h.ctx, "g2"))
			h.touch("one", 2)
			h.same("last seen, last read, has work", []any{h.mailbox("one").LastSeen, h.mailbox("one").LastRead, h.mailbox("one").HasWork()}, []any{uint64(2), uint64(0), true})
		},
	}.run(t, open)
}
