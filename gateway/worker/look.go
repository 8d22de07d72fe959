package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// runScans takes what is owed and has no living owner: mailboxes that were
// touched when all slots were busy, those of dead workers, and those in this
// worker's own name that no actor works on.
func (w *Worker) runScans(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	orphans, pause := map[sessions.Fence]bool{}, 0
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
		if periodic {
			pause--
		}
		if err == nil && periodic && pause < 0 {
			orphans, pause, err = w.adopt(ctx, orphans)
		}
		if err != nil && ctx.Err() == nil {
			w.Logger.Error("work scan failed", "error", err)
		}
	}
}

func (w *Worker) takeOwed(ctx context.Context, always bool) error {
	before := w.backlog.Load()
	if (before == 0 || w.suspectsDeferred.Load()) && !always {
		return nil
	}
	w.suspectsDeferred.Store(false)
	if !w.leases.holds() {
		return nil // the next heartbeat that gets through looks again
	}
	n, most := 0, 64
	if before == 0 {
		most = 1 // mostly there is nothing, and messages that come meanwhile need the others
	}
	for n < most && w.acquireSlot() {
		n++
	}
	if n == 0 {
		w.markBacklog() // looked at again when a slot is freed
		if w.slots.hasFree() {
			w.nudge.Send() // one was, just now
		}
		return nil
	}
	ctx, cancel := withTakeGrace(ctx)
	defer cancel()
	w.recovering.Store(true)
	ms, err := w.Store.Recover(ctx, w.Identity, w.leases.now(), n)
	started := 0
	for _, m := range ms {
		unlock := w.actors.lock(m.Token)
		if w.startIfLeased(ctx, m) {
			started++
		}
		unlock()
	}
	w.recovering.Store(false)
	if err != nil {
		w.markBacklog()
		for range n - started {
			w.slots.release() // without a nudge: the next tick looks again, not the next moment
		}
		return fmt.Errorf("recover mailboxes: %w", err)
	}
	if len(ms) == n {
		w.markBacklog()
		w.nudge.Send()
	} else {
		w.backlog.CompareAndSwap(before, 0)
		w.slots.grantAll()
	}
	for range n - started {
		w.releaseSlot()
	}
	return nil
}

// markBacklog notes that mailboxes may wait without an owner. It is forgotten when a
// look that began later finds none.
func (w *Worker) markBacklog() { w.backlog.Add(1) }

// hasBacklog reports whether mailboxes may wait without an owner.
func (w *Worker) hasBacklog() bool { return w.backlog.Load() != 0 }

// manyAtOnce is how many turns run when each begins to ask the store less often, so that
// what they ask in a second grows no more.
const manyAtOnce = 512

// adopt finds mailboxes in this worker's own name that have no actor, twice in
// a row under the same fence, and takes them up again. pause is for how many seconds
// it need not be called again.
func (w *Worker) adopt(ctx context.Context, seen map[sessions.Fence]bool) (now map[sessions.Fence]bool, pause int, err error) {
	held, err := w.Store.Held(ctx, w.Identity)
	if err != nil {
		return seen, 0, fmt.Errorf("list own mailboxes: %w", err)
	}
	now, pause = map[sessions.Fence]bool{}, len(held)/manyAtOnce
	for _, m := range held {
		f := m.Fence()
		switch {
		case w.actors.has(m.Token):
		case !seen[f], !w.leases.holds():
			now[f] = true
		case w.acquireSlot():
			if err := w.readopt(ctx, f); err != nil {
				w.releaseSlot()
				return now, pause, err
			}
		default:
			now[f] = true
		}
	}
	return now, pause, nil
}

func (w *Worker) readopt(ctx context.Context, f sessions.Fence) error {
	unlock := w.actors.lock(f.Token)
	defer unlock()
	if w.actors.has(f.Token) { // since it was looked at
		w.releaseSlot()
		return nil
	}
	ctx, cancel := withTakeGrace(ctx)
	defer cancel()
	// An actor may have come and gone since the list was read. Its own Reacquire under f
	// would be answered once more, and this attempt not be counted.
	switch m, err := w.Store.Mailbox(ctx, f.Token); {
	case err != nil:
		return fmt.Errorf("look at an orphaned mailbox: %w", err)
	case m.Fence() != f:
		w.releaseSlot()
		return nil
	}
	m, err := w.Store.Reacquire(ctx, f, w.leases.now())
	if errors.Is(err, sessions.ErrFenced) {
		w.releaseSlot()
		return nil
	}
	if err != nil {
		return fmt.Errorf("take up an orphaned mailbox: %w", err)
	}
	w.Logger.Warn("orphaned mailbox adopted again", "session", m.Session, "key", m.Key)
	if !w.startIfLeased(ctx, m) {
		w.releaseSlot()
	}
	return nil
}
