package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// lookForWork takes what is owed and has no living owner: mailboxes that were
// touched when all slots were busy, those of dead workers, and those in this
// worker's own name that nobody here works on.
func (w *Worker) lookForWork(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	orphans := map[sessions.Fence]bool{}
	for {
		periodic := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			periodic = true
		case <-w.nudge:
		}
		select { // one look is for both
		case <-tick.C:
			periodic = true
		case <-w.nudge:
		default:
		}
		err := w.takeOwed(ctx, periodic)
		if err == nil && periodic {
			orphans, err = w.adopt(ctx, orphans)
		}
		if err != nil && ctx.Err() == nil {
			w.Logger.Error("looking for work", "error", err)
		}
	}
}

func (w *Worker) takeOwed(ctx context.Context, always bool) error {
	before := w.backlog.Load()
	if (before == 0 || w.putOff.Load()) && !always {
		return nil
	}
	w.putOff.Store(false)
	if !w.leases.holds() {
		return nil // the next heartbeat that gets through looks again
	}
	n := 0
	for n < 64 && w.grabSlot() {
		n++
	}
	if n == 0 {
		w.owe() // looked at again when a slot is freed
		if w.slots.some() {
			w.lookNow() // one was, just now
		}
		return nil
	}
	ctx, cancel := taking(ctx)
	defer cancel()
	w.recovering.Store(true)
	ms, err := w.Store.Recover(ctx, w.Me, w.leases.now(), n)
	started := 0
	for _, m := range ms {
		unlock := w.actors.lock(m.Token)
		if w.begin(ctx, m) {
			started++
		}
		unlock()
	}
	w.recovering.Store(false)
	if err != nil {
		w.owe()
		for range n - started {
			w.slots.give() // without a nudge: the next tick looks again, not the next moment
		}
		return fmt.Errorf("recover mailboxes: %w", err)
	}
	if len(ms) == n {
		w.owe()
		w.lookNow()
	} else {
		w.backlog.CompareAndSwap(before, 0)
		w.slots.handOut()
	}
	for range n - started {
		w.freeSlot()
	}
	return nil
}

// owe notes that mailboxes may wait that nobody took. It is forgotten when a
// look that began later finds none.
func (w *Worker) owe() { w.backlog.Add(1) }

// waits says whether mailboxes may wait that nobody took.
func (w *Worker) waits() bool { return w.backlog.Load() != 0 }

func (w *Worker) lookNow() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// adopt finds mailboxes in this worker's own name that have no actor, twice in
// a row under the same fence, and takes them up again.
func (w *Worker) adopt(ctx context.Context, seen map[sessions.Fence]bool) (map[sessions.Fence]bool, error) {
	held, err := w.Store.Held(ctx, w.Me)
	if err != nil {
		return seen, fmt.Errorf("list own mailboxes: %w", err)
	}
	now := map[sessions.Fence]bool{}
	for _, m := range held {
		f := m.Fence()
		switch {
		case w.actors.has(m.Token):
		case !seen[f], !w.leases.holds():
			now[f] = true
		case w.grabSlot():
			if err := w.readopt(ctx, f); err != nil {
				w.freeSlot()
				return now, err
			}
		default:
			now[f] = true
		}
	}
	return now, nil
}

func (w *Worker) readopt(ctx context.Context, f sessions.Fence) error {
	unlock := w.actors.lock(f.Token)
	defer unlock()
	if w.actors.has(f.Token) { // since it was looked at
		w.freeSlot()
		return nil
	}
	ctx, cancel := taking(ctx)
	defer cancel()
	// An actor may have come and gone since the list was read. Its own Reacquire under f
	// would be answered once more, and this attempt not be counted.
	switch m, err := w.Store.Mailbox(ctx, f.Token); {
	case err != nil:
		return fmt.Errorf("look at an orphaned mailbox: %w", err)
	case m.Fence() != f:
		w.freeSlot()
		return nil
	}
	m, err := w.Store.Reacquire(ctx, f, w.leases.now())
	if errors.Is(err, sessions.ErrFenced) {
		w.freeSlot()
		return nil
	}
	if err != nil {
		return fmt.Errorf("take up an orphaned mailbox: %w", err)
	}
	w.Logger.Warn("an own mailbox had no actor and was taken up again", "key", m.Key)
	if !w.begin(ctx, m) {
		w.freeSlot()
	}
	return nil
}
