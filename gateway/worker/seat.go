package worker

import (
	"context"

	"parley/subagents"
)

// seat is an actor's place among the Turns that run at once. It is given back
// while the turn waits for sub-agents, so that they, and other conversations,
// never wait for a turn that only waits for them.
type seat struct {
	w    *Worker
	held bool
}

var _ subagents.Seat = (*seat)(nil)

// Leave implements [subagents.Seat].
func (s *seat) Leave() {
	if s.held {
		s.held = false
		s.w.freeSlot()
	}
}

// Return implements [subagents.Seat]. Who waits here is served in the order of
// coming, before mailboxes that nobody has taken up.
func (s *seat) Return(ctx context.Context) {
	if s.held || ctx.Err() != nil {
		return
	}
	s.held = s.w.slots.resume(ctx)
}

func (w *Worker) grabSlot() bool {
	return !w.ending() && w.slots.take()
}

func (w *Worker) freeSlot() {
	w.slots.give()
	w.lookForBacklog()
}

// lookForBacklog looks for mailboxes that nobody took, if some may wait and a slot
// is free for them.
func (w *Worker) lookForBacklog() {
	if w.waits() {
		w.lookNow()
	}
}

// ending says whether this process takes nothing new.
func (w *Worker) ending() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}
