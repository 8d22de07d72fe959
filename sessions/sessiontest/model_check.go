package sessiontest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"parley/sessions"
)

// check compares rows and histories with the model.
func (w *world) check(*rapid.T) {
	for _, r := range w.rows {
		m, err := w.h.s.Mailbox(w.h.ctx, r.token)
		w.ok(err)
		got := core{touched: m.Touched, read: m.Read, owner: m.Owner, epoch: m.Epoch, attempts: m.Attempts}
		want := core{touched: r.touched, read: r.read, owner: r.owner, epoch: r.epoch, attempts: r.attempts}
		if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
			w.rt.Fatalf("mailbox\n got %s\nwant %s", a, b)
		}
		if (m.Turn != nil) != (r.turn != nil) || m.Turn != nil && (m.Turn.ID != r.turn.id || m.Turn.Attempts != r.turn.attempts) {
			w.rt.Fatalf("open turn %+v, should be %+v", m.Turn, r.turn)
		}
		if got := w.h.history(m.Session); !slices.Equal(got, r.history) {
			w.rt.Fatalf("history %v, should be %v", got, r.history)
		}
	}
}

// drain lets a new worker do what is left, after every lease has ended.
func (w *world) drain() {
	w.h.now = w.h.now.Add(2 * lease)
	by := w.born(fmt.Sprintf("last-%d", w.run))
	for _, r := range w.rows {
		w.h.touch(r.peer, r.log)
		r.touched = max(r.touched, r.log)
	}
	w.recoverFor(by, true)
	for _, r := range w.rows {
		for r.owed() {
			if r.turn == nil {
				w.lastOpen(r)
			}
			w.lastFinish(r)
		}
		want := []uint64{}
		for seq := uint64(1); seq <= r.log; seq++ {
			if !r.skipped[seq] && !r.joined[seq] {
				want = append(want, seq)
			}
		}
		if len(r.turns) != len(want) {
			w.rt.Fatalf("%d turns for the messages %v", len(r.turns), want)
		}
		for i, seq := range want {
			if id := fmt.Sprintf("%s-%d", r.peer, seq); r.turns[i].id != id {
				w.rt.Fatalf("turn %d is %s, should be %s", i, r.turns[i].id, id)
			}
		}
	}
	w.check(nil)
	if n := w.recoverFor(by, true); n != 0 {
		w.rt.Fatalf("%d mailboxes are still owed work", n)
	}
}

func (w *world) lastOpen(r *row) {
	o := opening(r.fence(), r.read+1)
	o.Turn.ID = fmt.Sprintf("%s-%d", r.peer, r.read+1)
	o.Events, o.Message.ID = []sessions.InboxID{event(o.Turn.ID)}, o.Turn.ID+"-said"
	_, opened, err := w.h.s.Open(w.h.ctx, r.fence(), o)
	w.ok(err)
	if !opened {
		w.rt.Fatalf("turn %s was not opened", o.Turn.ID)
	}
	r.read++
	r.turn = &modelTurn{id: o.Turn.ID, seq: r.read, attempts: r.attempts}
	r.turns = append(r.turns, r.turn)
	r.history = append(r.history, o.Message.ID)
}

func (w *world) lastFinish(r *row) {
	_, released, err := w.h.s.Finish(w.h.ctx, r.fence(), ending(r.turn.id))
	w.ok(err)
	r.history = append(r.history, r.turn.id+"-answer")
	r.turn, r.attempts = nil, 1
	if released == r.owed() {
		w.rt.Fatalf("released: %v, owed: %v", released, r.owed())
	}
	if released {
		r.giveUp()
		r.attempts = 0
	}
}
