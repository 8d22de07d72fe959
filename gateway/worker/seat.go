package worker

import (
	"context"

	"parley/subagents"
)

// slot is an actor's place among the Turns that run at once. It is given back
// while the turn waits for sub-agents, so that they, and other conversations,
// never wait for a turn that only waits for them.
type slot struct {
	w    *Worker
	held bool
}

var _ subagents.Slot = (*slot)(nil)

// Release implements [subagents.Slot].
func (s *slot) Release() {
	if s.held {
		s.held = false
		s.w.releaseSlot()
	}
}

// Reacquire implements [subagents.Slot]. Who waits here is served in the order of
// coming, before mailboxes without an owner.
func (s *slot) Reacquire(ctx context.Context) {
	if s.held || ctx.Err() != nil {
		return
	}
	s.held = s.w.slots.reacquire(ctx)
}

func (w *Worker) acquireSlot() bool {
	return !w.stopping() && w.slots.tryAcquire()
}

func (w *Worker) releaseSlot() {
	w.slots.release()
	w.scanIfBacklog()
}

// scanIfBacklog looks for mailboxes without an owner, if some may wait and a slot
// is free for them.
func (w *Worker) scanIfBacklog() {
	if w.hasBacklog() {
		w.nudge.Send()
	}
}

// stopping reports whether this process takes nothing new.
func (w *Worker) stopping() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}
