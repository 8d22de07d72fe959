package subagents

import (
	"context"
	"sync"
)

// childWait gives a turn's seat back while it waits for children, for however
// many of them at once.
type childWait struct {
	slot Slot

	mu sync.Mutex // guards n, and the seat
	n  int
}

func (w *childWait) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n == 0 {
		w.slot.Release()
	}
	w.n++
}

// end takes the seat again behind the last child. Until there is one, or ctx
// ends, the turn does not go on.
func (w *childWait) end(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 {
		w.slot.Reacquire(ctx)
	}
}

// childSlot is a child's seat: one of the process's MaxConcurrent. Who waits is
// served in the order of coming.
type childSlot struct {
	slots chan struct{}
	held  bool
}

var _ Slot = (*childSlot)(nil)

func (s *childSlot) Release() {
	if s.held {
		<-s.slots
		s.held = false
	}
}

func (s *childSlot) Reacquire(ctx context.Context) {
	if s.held || ctx.Err() != nil {
		return
	}
	select {
	case s.slots <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
}
