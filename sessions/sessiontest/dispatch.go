package sessiontest

import (
	"testing"
	"time"

	"parley/sessions"
)

func dispatch(t *testing.T, open opener) {
	cases{
		"the first message makes a mailbox with a new session": func(t *testing.T, h *fixture) {
			m := h.touch("one", 3)
			k := keyOf(t, "one")
			h.same("mailbox", m, sessions.Mailbox{Token: k.Token(), Key: k, Session: m.Session, LastSeen: 3})
			s := h.session(m.Session)
			h.same("session", s, sessions.Session{ID: m.Session, Key: k, Root: m.Session, Role: "main", CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt})
			h.same("looked up", h.mailbox("one"), m)
		},
		"an older sequence changes nothing": func(_ *testing.T, h *fixture) {
			m := h.touch("one", 9)
			h.same("mailbox", h.touch("one", 4), m)
			h.same("mailbox", h.touch("one", 0), m)
		},
		"whoever finds it free owns it under a higher epoch": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			if m.Owner != h.ann || m.Epoch < 1 || m.Attempts != 1 {
				t.Fatalf("taken as %+v", m)
			}
			bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
			h.alive(bob)
			other, got := h.try(bob, "one", 2)
			if got || other.Owner != h.ann || other.Epoch != m.Epoch || other.LastSeen != 2 {
				t.Fatalf("bob: got=%v %+v", got, other)
			}
		},
		"a mailbox that is owed nothing is not taken": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.ok(h.s.Skip(h.ctx, m.Fence(), 1))
			if _, released, err := h.s.Release(h.ctx, m.Fence()); err != nil || !released {
				t.Fatal(released, err)
			}
			if _, got := h.try(h.ann, "one", 0); got {
				t.Fatal("taken although nothing is owed")
			}
			if _, got := h.try(h.ann, "one", 1); got {
				t.Fatal("taken for a message that was read")
			}
		},
		"sequence 0 takes what is owed": func(t *testing.T, h *fixture) {
			h.touch("one", 5)
			if m := h.take(h.ann, "one", 0); m.LastSeen != 5 {
				t.Fatalf("%+v", m)
			}
		},
		"a repeated take answers that the owner has it": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			again, got := h.try(h.ann, "one", 1)
			if got {
				t.Fatal("taken twice")
			}
			h.same("mailbox", again, m)
		},
		"an owner whose lease ended is not robbed by itself": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.now = h.now.Add(2 * lease)
			again, got := h.try(h.ann, "one", 2)
			if got || again.Epoch != m.Epoch {
				t.Fatalf("got=%v %+v", got, again)
			}
		},
		"an owner whose lease ended is followed by another": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 1)
			h.now = h.now.Add(lease)
			bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
			h.alive(bob)
			n := h.take(bob, "one", 1)
			if n.Epoch <= m.Epoch || n.Attempts != 2 {
				t.Fatalf("%+v after %+v", n, m)
			}
			h.is(h.s.Skip(h.ctx, m.Fence(), 1), sessions.ErrFenced)
		},
		"reacquire gives a new epoch and counts an attempt": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			m, err := h.s.Reacquire(h.ctx, f, h.now)
			h.ok(err)
			if m.Epoch != f.Epoch+1 || m.Attempts != 2 || m.Turn == nil || m.Turn.Attempts != 2 || m.Owner != h.ann {
				t.Fatalf("%+v", m)
			}
			h.is(h.s.Append(h.ctx, f, turn.ID, said("late", "late")), sessions.ErrFenced)
			h.ok(h.s.Append(h.ctx, m.Fence(), turn.ID, said("good", "good")))
		},
		"release needs that nothing is owed": func(t *testing.T, h *fixture) {
			m := h.take(h.ann, "one", 2)
			got, released, err := h.s.Release(h.ctx, m.Fence())
			h.ok(err)
			if released || !got.HasWork() {
				t.Fatalf("released=%v %+v", released, got)
			}
			h.ok(h.s.Skip(h.ctx, m.Fence(), 2))
			got, released, err = h.s.Release(h.ctx, m.Fence())
			h.ok(err)
			if !released || got.Owner != (sessions.Worker{}) || got.Attempts != 0 || got.Epoch != m.Epoch {
				t.Fatalf("released=%v %+v", released, got)
			}
		},
		"a handover leaves the work and gives the attempt back": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.ok(h.s.Handover(h.ctx, f))
			m := h.mailbox("one")
			if m.Owner != (sessions.Worker{}) || m.Attempts != 0 || m.Turn == nil || m.Turn.Attempts != 0 || m.Turn.ID != turn.ID {
				t.Fatalf("%+v", m)
			}
			n := h.take(h.ann, "one", 0)
			if n.Epoch != f.Epoch+1 || n.Attempts != 1 || n.Turn.Attempts != 1 {
				t.Fatalf("%+v", n)
			}
		},
		"mailboxes lists every one until it is told to stop": func(_ *testing.T, h *fixture) {
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
		"what is not there is ErrNotFound": func(_ *testing.T, h *fixture) {
			_, err := h.s.Mailbox(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
			_, err = h.s.Session(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
			_, err = h.s.Tree(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
			_, err = h.s.Messages(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
			_, err = h.s.Turn(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
			_, err = h.s.Delivery(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
			h.is(h.s.Advance(h.ctx, "nobody", sessions.Progress{Close: true}), sessions.ErrNotFound)
			h.is(h.s.Preview(h.ctx, "nobody", sessions.ShownPreview("m")), sessions.ErrNotFound)
			_, err = h.s.Previewed(h.ctx, "nobody")
			h.is(err, sessions.ErrNotFound)
		},
	}.run(t, open)
}

func workers(t *testing.T, open opener) {
	bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
	cases{
		"recover finds what is owed and nobody has": func(t *testing.T, h *fixture) {
			h.touch("one", 1)
			h.touch("two", 1)
			h.take(h.ann, "three", 1)
			h.alive(bob)
			ms, err := h.s.Recover(h.ctx, bob, h.now, 10)
			h.ok(err)
			if len(ms) != 2 || ms[0].Owner != bob || ms[0].Epoch != 1 || ms[0].Attempts != 1 {
				t.Fatalf("%+v", ms)
			}
			held, err := h.s.Held(h.ctx, bob)
			h.ok(err)
			h.same("held", len(held), 2)
			again, err := h.s.Recover(h.ctx, bob, h.now, 10)
			h.ok(err)
			h.same("left", len(again), 0)
		},
		"recover obeys its limit": func(_ *testing.T, h *fixture) {
			for _, p := range []string{"one", "two", "three"} {
				h.touch(p, 1)
			}
			for _, want := range []int{2, 1, 0} {
				ms, err := h.s.Recover(h.ctx, h.ann, h.now, 2)
				h.ok(err)
				h.same("found", len(ms), want)
			}
		},
		"a worker that died is followed after its lease": func(t *testing.T, h *fixture) {
			f, turn := h.working("one")
			h.now = h.now.Add(lease - time.Millisecond)
			h.alive(bob)
			ms, err := h.s.Recover(h.ctx, bob, h.now, 10)
			h.ok(err)
			h.same("found while ann lives", len(ms), 0)
			h.now = h.now.Add(time.Millisecond)
			ms, err = h.s.Recover(h.ctx, bob, h.now, 10)
			h.ok(err)
			if len(ms) != 1 || ms[0].Epoch != f.Epoch+1 || ms[0].Attempts != 2 || ms[0].Turn == nil || ms[0].Turn.ID != turn.ID || ms[0].Turn.Attempts != 2 {
				t.Fatalf("%+v", ms)
			}
		},
		"a worker that started anew is dead in its old form": func(t *testing.T, h *fixture) {
			f, _ := h.working("one")
			reborn := sessions.Worker{Name: h.ann.Name, Nonce: "ann-2"}
			h.alive(reborn)
			ms, err := h.s.Recover(h.ctx, reborn, h.now, 10)
			h.ok(err)
			if len(ms) != 1 || ms[0].Epoch != f.Epoch+1 {
				t.Fatalf("%+v", ms)
			}
			h.is(h.s.Heartbeat(h.ctx, h.ann, h.now.Add(lease)), sessions.ErrFenced)
			h.touch("two", 1)
			if _, got := h.try(h.ann, "two", 1); got {
				t.Fatal("a dead worker took a mailbox")
			}
		},
		"a worker whose lease ended takes nothing until it lives again": func(t *testing.T, h *fixture) {
			h.alive(bob)
			h.take(bob, "left by bob", 1)
			h.touch("free", 1)
			h.now = h.now.Add(lease)
			for _, peer := range []string{"free", "left by bob", "new"} {
				before := h.touch(peer, 1)
				m, got := h.try(h.ann, peer, 2)
				if got || m.Owner != before.Owner || m.Epoch != before.Epoch || m.LastSeen != 2 {
					t.Fatalf("%s: got=%v %+v", peer, got, m)
				}
				h.same("looked up", h.mailbox(peer), m)
			}
			ms, err := h.s.Recover(h.ctx, h.ann, h.now, 10)
			h.ok(err)
			h.same("found by who does not live", len(ms), 0)
			h.alive(h.ann)
			h.take(h.ann, "free", 2)
			ms, err = h.s.Recover(h.ctx, h.ann, h.now, 10)
			h.ok(err)
			h.same("found by who lives again", len(ms), 2)
		},
		"a worker that never said that it lives takes nothing": func(t *testing.T, h *fixture) {
			h.touch("one", 1)
			if m, got := h.try(bob, "one", 2); got || m.Owner != (sessions.Worker{}) || m.LastSeen != 2 {
				t.Fatalf("got=%v %+v", got, m)
			}
			ms, err := h.s.Recover(h.ctx, bob, h.now, 10)
			h.ok(err)
			h.same("found", len(ms), 0)
			h.alive(bob)
			h.take(bob, "one", 2)
		},
		"a worker that is gone is refused what it would recover": func(t *testing.T, h *fixture) {
			h.touch("one", 1)
			h.ok(h.s.Leave(h.ctx, h.ann))
			if _, got := h.try(h.ann, "one", 1); got {
				t.Fatal("a worker that left took a mailbox")
			}
			_, err := h.s.Recover(h.ctx, h.ann, h.now, 10)
			h.is(err, sessions.ErrFenced)
		},
		"a worker whose lease ended may reacquire what nobody took since": func(t *testing.T, h *fixture) {
			f, _ := h.working("one")
			h.now = h.now.Add(2 * lease)
			for range 2 {
				m, err := h.s.Reacquire(h.ctx, f, h.now)
				h.ok(err)
				if m.Owner != h.ann || m.Epoch != f.Epoch+1 || m.Attempts != 2 {
					t.Fatalf("%+v", m)
				}
			}
		},
		"what a worker leaves may be taken at once": func(t *testing.T, h *fixture) {
			h.working("one")
			h.ok(h.s.Leave(h.ctx, h.ann))
			h.ok(h.s.Leave(h.ctx, h.ann))
			h.alive(bob)
			if m := h.take(bob, "one", 0); m.Attempts != 2 {
				t.Fatalf("%+v", m)
			}
		},
		"an owner's work without a message is found": func(_ *testing.T, h *fixture) {
			f, _ := h.working("one")
			h.ok(h.s.Handover(h.ctx, f))
			ms, err := h.s.Recover(h.ctx, h.ann, h.now, 10)
			h.ok(err)
			h.same("found", len(ms), 1)
		},
		"what waited longest is found first": func(_ *testing.T, h *fixture) {
			for _, p := range []string{"c", "a", "b"} {
				h.touch(p, 1)
				h.now = h.now.Add(time.Second)
			}
			h.touch("c", 2) // waits since its first message
			ms, err := h.s.Recover(h.ctx, h.ann, h.now, 1)
			h.ok(err)
			h.same("first", ms[0].Key, keyOf(h.t, "c"))
		},
	}.run(t, open)
}

func generations(t *testing.T, open opener) {
	cases{
		"there is none at first": func(_ *testing.T, h *fixture) {
			name, highest, err := h.s.Generation(h.ctx)
			h.ok(err)
			h.same("generation", []any{name, highest}, []any{"", uint64(0)})
		},
		"it knows the highest sequence": func(_ *testing.T, h *fixture) {
			_, err := h.s.StartGeneration(h.ctx, "g1")
			h.ok(err)
			h.touch("one", 7)
			h.touch("two", 12)
			h.touch("one", 9)
			name, highest, err := h.s.Generation(h.ctx)
			h.ok(err)
			h.same("generation", []any{name, highest}, []any{"g1", uint64(12)})
		},
		"another log starts again from zero": func(t *testing.T, h *fixture) {
			_, err := h.s.StartGeneration(h.ctx, "g1")
			h.ok(err)
			f, turn := h.working("one") // read, with an open turn
			h.touch("two", 8)           // owed
			h.touch("one", 3)           // owed
			for range 2 {
				lost, err := h.s.StartGeneration(h.ctx, "g2")
				h.ok(err)
				h.same("lost", lost, 2)
			}
			m := h.mailbox("one")
			if m.LastSeen != 0 || m.LastRead != 0 || m.Turn == nil || m.Turn.ID != turn.ID || m.Fence() != f {
				t.Fatalf("%+v", m)
			}
			if m := h.mailbox("two"); m.HasWork() {
				t.Fatalf("%+v", m)
			}
			name, highest, err := h.s.Generation(h.ctx)
			h.ok(err)
			h.same("generation", []any{name, highest}, []any{"g2", uint64(0)})
			if m := h.touch("two", 1); !m.HasWork() || m.LastSeen != 1 {
				t.Fatalf("%+v", m)
			}
		},
		"what another log has waits, also where all of the old one was read": func(t *testing.T, h *fixture) {
			_, err := h.s.StartGeneration(h.ctx, "g1")
			h.ok(err)
			h.ok(h.s.Skip(h.ctx, h.take(h.ann, "one", 7).Fence(), 7))
			_, err = h.s.StartGeneration(h.ctx, "g2")
			h.ok(err)
			h.touch("one", 2)
			if m := h.mailbox("one"); m.LastSeen != 2 || m.LastRead != 0 || !m.HasWork() {
				t.Fatalf("%+v", m)
			}
		},
	}.run(t, open)
}
