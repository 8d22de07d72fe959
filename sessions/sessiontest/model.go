package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley/sessions"
)

// model runs random schedules against a simple model of the mailbox row: lost
// answers, dead workers, leases that end, writes of those who came back. After
// every step the row and the history must be what the model says, so that
//
//	I1 a history is the messages that were read, in order, each once;
//	I2 an epoch never decreases, and late commits are refused;
//	I3 what is owed and has no living owner is found by Recover, for who lives.
//
// At the end a new worker does what is left, and nothing may be missing.
func model(t *testing.T, open opener) {
	s := open(t)
	run := 0
	randomly(t, func(rt *rapid.T) {
		run++
		w := newWorld(t, rt, s, run)
		rt.Repeat(map[string]func(*rapid.T){
			"publish":   w.publish,
			"touch":     w.touch,
			"take":      w.take,
			"take more": w.take,
			"work":      w.work,
			"work more": w.work,
			"join":      w.join,
			"finish":    w.finish,
			"skip":      w.skip,
			"release":   w.release,
			"handover":  w.handover,
			"yield":     w.yield,
			"append":    w.append,
			"late":      w.late,
			"reconcile": w.reconcile,
			"recover":   w.recover,
			"heartbeat": w.heartbeat,
			"crash":     w.crash,
			"leave":     w.leave,
			"time":      w.time,
			"":          w.check,
		})
		w.drain()
	})
}

// row is the model of a mailbox.
type row struct {
	core
	peer    string
	log     uint64 // messages in the broker
	turn    *modelTurn
	history []string
	skipped map[uint64]bool
	joined  map[uint64]bool
	fences  []sessions.Fence // that somebody was told of, old ones too
	turns   []*modelTurn
}

type modelTurn struct {
	id       string
	seq      uint64
	attempts int
	done     bool
	ended    sessions.Fence
	released bool
	appended int
}

func (r *row) owed() bool { return r.touched > r.read || r.turn != nil }

func (r *row) attempt(n int) {
	r.attempts = max(0, r.attempts+n)
	if r.turn != nil {
		r.turn.attempts = max(0, r.turn.attempts+n)
	}
}

// pass is reading seq without a turn.
func (r *row) pass(seq uint64) {
	if seq <= r.read {
		return
	}
	r.read, r.touched = seq, max(r.touched, seq)
	if r.turn == nil {
		r.attempts = 1
	}
}

// world is two mailboxes and three workers. Each run has a day of its own, so
// that the workers of a run that was given up are dead for the next ones.
type world struct {
	h       *house
	rt      *rapid.T
	rows    []*row
	workers []sessions.Worker // as they are at present
	lives   map[string]time.Time
	gone    map[string]bool
	run     int
	births  int
}

func newWorld(t *testing.T, rt *rapid.T, s sessions.Store, run int) *world {
	t.Helper()
	w := &world{
		h: &house{t: t, ctx: t.Context(), s: s, now: noon.Add(time.Duration(run) * 24 * time.Hour)}, rt: rt, run: run,
		lives: map[string]time.Time{}, gone: map[string]bool{},
	}
	for i := range 2 {
		peer := fmt.Sprintf("run-%d-%d", run, i)
		w.rows = append(w.rows, &row{core: core{token: keyOf(t, peer).Token()}, peer: peer, skipped: map[uint64]bool{}, joined: map[uint64]bool{}})
		w.h.touch(peer, 0)
	}
	for i := range 3 {
		w.workers = append(w.workers, w.born(fmt.Sprintf("worker-%d-%d", run, i)))
	}
	return w
}

// born is a new process of a worker, alive.
func (w *world) born(name string) sessions.Worker {
	for nonce := range w.lives {
		if len(nonce) > len(name) && nonce[:len(name)+1] == name+"#" {
			w.gone[nonce] = true
		}
	}
	w.births++
	b := sessions.Worker{Name: name, Nonce: fmt.Sprintf("%s#%d", name, w.births)}
	w.lives[b.Nonce] = w.h.now.Add(lease)
	w.ok(w.h.s.Heartbeat(w.h.ctx, b, w.lives[b.Nonce]))
	return b
}

func (w *world) alive(nonce string) bool { return !w.gone[nonce] && w.lives[nonce].After(w.h.now) }

func (w *world) ok(err error) {
	if err != nil {
		w.rt.Fatal(err)
	}
}

func (w *world) expect(what string, err error, fenced bool) {
	if errors.Is(err, sessions.ErrFenced) != fenced || err != nil && !fenced {
		w.rt.Fatalf("%s: error %v, refused should be %v", what, err, fenced)
	}
}

func (w *world) anyRow(t *rapid.T) *row { return rapid.SampledFrom(w.rows).Draw(t, "mailbox") }

func (w *world) anyWorker(t *rapid.T) sessions.Worker {
	return rapid.SampledFrom(w.workers).Draw(t, "worker")
}

// anyFence is one that somebody was told of: mostly the newest.
func (w *world) anyFence(t *rapid.T, r *row) sessions.Fence {
	if len(r.fences) == 0 {
		t.Skip("nobody was told of a fence")
	}
	if rapid.IntRange(0, 3).Draw(t, "age") > 0 {
		return r.fences[len(r.fences)-1]
	}
	return rapid.SampledFrom(r.fences).Draw(t, "fence")
}

// times is how often a step is done: again after a lost answer.
func times(t *rapid.T) int { return 1 + rapid.IntRange(0, 4).Draw(t, "repeat")/4 }

// heard says whether the answer arrives.
func heard(t *rapid.T) bool { return rapid.IntRange(0, 3).Draw(t, "heard") > 0 }

func (w *world) publish(t *rapid.T) { w.anyRow(t).log++ }

func (w *world) anySeq(t *rapid.T, r *row) uint64 {
	return rapid.Uint64Range(0, r.log).Draw(t, "sequence")
}

func (w *world) touch(t *rapid.T) {
	r := w.anyRow(t)
	seq := w.anySeq(t, r)
	for range times(t) {
		w.h.touch(r.peer, seq)
		r.touched = max(r.touched, seq)
	}
}

func (w *world) take(t *rapid.T) {
	r, by := w.anyRow(t), w.anyWorker(t)
	r.log += uint64(rapid.IntRange(0, 1).Draw(t, "new"))
	seq := w.anySeq(t, r)
	for range times(t) {
		m, got := w.h.try(by, r.peer, seq)
		r.touched = max(r.touched, seq)
		want := r.owed() && r.owner.Nonce != by.Nonce && !w.alive(r.owner.Nonce) && w.alive(by.Nonce)
		if got != want {
			w.rt.Fatalf("%s got the mailbox: %v, should be %v: %+v", by.Nonce, got, want, m)
		}
		if got {
			w.taken(r, by)
		}
		if got && heard(t) {
			r.fences = append(r.fences, m.Fence())
		}
	}
}

func (w *world) taken(r *row, by sessions.Worker) {
	r.owner, r.prior = by, 0
	r.epoch++
	r.attempt(1)
}

// work opens the next message, or the open turn again.
func (w *world) work(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	if r.turn == nil && r.touched == r.read {
		t.Skip("nothing waits")
	}
	seq := r.read + 1
	if r.turn != nil {
		seq = r.turn.seq // more may have been skipped since
	}
	for range times(t) {
		o := opening(f, seq)
		o.Turn.ID = fmt.Sprintf("%s-%d", r.peer, seq)
		o.Events, o.Message.ID = []sessions.InboxID{event(o.Turn.ID)}, o.Turn.ID+"-said"
		_, opened, err := w.h.s.Open(w.h.ctx, f, o)
		w.expect("open", err, !r.holds(f))
		if err != nil {
			return
		}
		if !opened {
			w.rt.Fatalf("turn %s was not opened", o.Turn.ID)
		}
		if r.turn == nil {
			r.read = seq
			r.turn = &modelTurn{id: o.Turn.ID, seq: seq, attempts: max(1, r.attempts)}
			r.turns = append(r.turns, r.turn)
			r.history = append(r.history, o.Message.ID)
		}
	}
}

// finish ends the open turn, or tries an older one again.
func (w *world) finish(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	turn := r.turn
	if turn == nil {
		if len(r.turns) == 0 {
			t.Skip("there was no turn")
		}
		turn = r.turns[len(r.turns)-1]
	}
	for range times(t) {
		_, released, err := w.h.s.Finish(w.h.ctx, f, ending(turn.id))
		if turn.done && turn.ended == f {
			lost := !turn.released && !r.holds(f)
			w.expect("finish again", err, lost)
			if !lost && released != turn.released {
				w.rt.Fatalf("finish of %s said released=%v before", turn.id, turn.released)
			}
			continue
		}
		w.expect("finish", err, turn.done || !r.holds(f))
		if err != nil {
			return
		}
		r.turn, turn.done, turn.ended, r.attempts = nil, true, f, 1
		r.history = append(r.history, turn.id+"-answer")
		if turn.released = !r.owed(); turn.released {
			r.giveUp()
			r.attempts = 0
		}
		if released != turn.released {
			w.rt.Fatalf("finish of %s released: %v, should be %v", turn.id, released, turn.released)
		}
	}
}

func (w *world) skip(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	if r.touched == r.read {
		t.Skip("nothing waits")
	}
	seq := r.read + 1
	for range times(t) {
		err := w.h.s.Skip(w.h.ctx, f, seq)
		w.expect("skip", err, !r.holds(f))
		if err != nil {
			return
		}
		r.skipped[seq] = true
		r.pass(seq)
	}
}

func (w *world) release(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	for range times(t) {
		_, released, err := w.h.s.Release(w.h.ctx, f)
		if r.gaveUp(f) {
			w.expect("release again", err, false)
			continue
		}
		w.expect("release", err, !r.holds(f))
		if err != nil {
			return
		}
		if released == r.owed() {
			w.rt.Fatalf("released: %v, owed: %v", released, r.owed())
		}
		if released {
			r.giveUp()
			r.attempts = 0
		}
	}
}

func (w *world) handover(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	for range times(t) {
		err := w.h.s.Handover(w.h.ctx, f)
		if r.gaveUp(f) {
			w.expect("handover again", err, false)
			continue
		}
		w.expect("handover", err, !r.holds(f))
		if err != nil {
			return
		}
		r.attempt(-1)
		r.giveUp()
	}
}

// yield gives up the mailbox if another waits for an owner.
func (w *world) yield(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	for range times(t) {
		yielded, err := w.h.s.Yield(w.h.ctx, f, w.h.now)
		if r.gaveUp(f) {
			w.expect("yield again", err, false)
			continue
		}
		w.expect("yield", err, !r.holds(f))
		if err != nil {
			return
		}
		if want := w.waits(r, f.Nonce); yielded != want {
			w.rt.Fatalf("yielded: %v, another waits: %v", yielded, want)
		}
		if yielded {
			r.attempt(-1)
			r.giveUp()
		}
	}
}

// waits says whether a mailbox besides r is owed work and has no living owner.
// One that the worker has itself does not count, even when its lease ended.
func (w *world) waits(r *row, nonce string) bool {
	found := false
	w.ok(w.h.s.Mailboxes(w.h.ctx, func(m sessions.Mailbox) bool {
		found = m.Token != r.token && m.Owed() && m.Owner.Nonce != nonce && !w.alive(m.Owner.Nonce)
		return !found
	}))
	return found
}

func (w *world) append(t *rapid.T) {
	r := w.anyRow(t)
	f := w.anyFence(t, r)
	if r.turn == nil {
		t.Skip("no turn is open")
	}
	id := fmt.Sprintf("%s-step-%d", r.turn.id, r.turn.appended)
	for i := range times(t) {
		err := w.h.s.Append(w.h.ctx, f, r.turn.id, said(id, id))
		w.expect("append", err, !r.holds(f))
		if err != nil {
			return
		}
		if i == 0 {
			r.turn.appended++
			r.history = append(r.history, id)
		}
	}
}

// late is a write of somebody who was told of an older fence.
func (w *world) late(t *rapid.T) {
	r := w.anyRow(t)
	var old []sessions.Fence
	for _, f := range r.fences {
		if !r.holds(f) && !r.gaveUp(f) {
			old = append(old, f)
		}
	}
	if len(old) == 0 || len(r.turns) == 0 {
		t.Skip("nobody is late")
	}
	f := rapid.SampledFrom(old).Draw(t, "old fence")
	turn := rapid.SampledFrom(r.turns).Draw(t, "turn")
	if turn.done && turn.ended == f {
		t.Skip("a repeat, not late")
	}
	_, _, err := w.h.s.Finish(w.h.ctx, f, ending(turn.id))
	w.expect("late finish", err, true)
	_, err = w.h.s.Join(w.h.ctx, f, joined(turn.id, r.log+1, 0, "late"))
	w.expect("late join", err, true)
	w.expect("late skip", w.h.s.Skip(w.h.ctx, f, r.log+1), true)
	w.expect("late append", w.h.s.Append(w.h.ctx, f, turn.id, said("late", "late")), true)
	w.expect("late handover", w.h.s.Handover(w.h.ctx, f), true)
	_, err = w.h.s.Yield(w.h.ctx, f, w.h.now)
	w.expect("late yield", err, true)
	_, _, err = w.h.s.Release(w.h.ctx, f)
	w.expect("late release", err, true)
}

// reconcile is what a worker does about mailboxes that it holds and does not
// run: it reacquires them.
func (w *world) reconcile(t *rapid.T) {
	by := w.anyWorker(t)
	held, err := w.h.s.Held(w.h.ctx, by)
	w.ok(err)
	// Recover may have found some of an earlier run that was given up.
	held = slices.DeleteFunc(held, func(m sessions.Mailbox) bool { return w.rowOf(m.Token) == nil })
	var want []string
	for _, r := range w.rows {
		if r.owner == by {
			want = append(want, r.token)
		}
	}
	got := make([]string, 0, len(held))
	for _, m := range held {
		got = append(got, m.Token)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.rt.Fatalf("%s holds %v, should hold %v", by.Nonce, got, want)
	}
	for _, m := range held {
		r := w.rowOf(m.Token)
		for i := range times(t) {
			m2, err := w.h.s.Reacquire(w.h.ctx, m.Fence(), w.h.now)
			w.expect("reacquire", err, w.gone[by.Nonce])
			if err != nil {
				return
			}
			if i == 0 {
				r.prior = r.epoch
				r.epoch++
				r.attempt(1)
			}
			if m2.Epoch != r.epoch {
				w.rt.Fatalf("reacquired epoch %d, should be %d", m2.Epoch, r.epoch)
			}
		}
		if heard(t) {
			r.fences = append(r.fences, r.fence())
		}
	}
}

func (w *world) rowOf(token string) *row {
	for _, r := range w.rows {
		if r.token == token {
			return r
		}
	}
	return nil
}

func (w *world) recover(t *rapid.T) { w.recoverFor(w.anyWorker(t), heard(t)) }

// recoverFor finds exactly what is owed and has no living owner, if by lives.
func (w *world) recoverFor(by sessions.Worker, told bool) int {
	want := map[string]bool{}
	for _, r := range w.rows {
		if w.alive(by.Nonce) && r.owed() && r.owner.Nonce != by.Nonce && !w.alive(r.owner.Nonce) {
			want[r.token] = true
		}
	}
	ms, err := w.h.s.Recover(w.h.ctx, by, w.h.now, 1000)
	w.expect("recover", err, w.gone[by.Nonce])
	if err != nil {
		return 0
	}
	found := 0
	for _, m := range ms {
		r := w.rowOf(m.Token)
		if r == nil {
			continue // of an earlier run that was given up
		}
		if !want[m.Token] {
			w.rt.Fatalf("%s recovered %+v: it does not live, or the owner does, or nothing is owed", by.Nonce, m)
		}
		found++
		w.taken(r, by)
		if told {
			r.fences = append(r.fences, m.Fence())
		}
	}
	if found != len(want) {
		w.rt.Fatalf("recovered %d mailboxes of %d: a wake-up is lost", found, len(want))
	}
	return found
}

func (w *world) heartbeat(t *rapid.T) { w.beat(w.anyWorker(t)) }

func (w *world) beat(by sessions.Worker) {
	err := w.h.s.Heartbeat(w.h.ctx, by, w.h.now.Add(lease))
	w.expect("heartbeat", err, w.gone[by.Nonce])
	if err == nil {
		w.lives[by.Nonce] = w.h.now.Add(lease)
	}
}

// crash ends a worker's process; another one of its name starts. What the old
// one was told may still be used: it may only have been frozen.
func (w *world) crash(t *rapid.T) {
	i := rapid.IntRange(0, len(w.workers)-1).Draw(t, "worker")
	w.workers[i] = w.born(w.workers[i].Name)
}

func (w *world) leave(t *rapid.T) {
	by := w.anyWorker(t)
	for range times(t) {
		w.ok(w.h.s.Leave(w.h.ctx, by))
	}
	w.gone[by.Nonce] = true
}

// time passes, and most of those who live say so; the others are paused.
func (w *world) time(t *rapid.T) {
	w.h.now = w.h.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "half leases")) * lease / 2)
	for _, by := range w.workers {
		if rapid.IntRange(0, 2).Draw(t, "beats") > 0 {
			w.beat(by)
		}
	}
}
