package subagents

import (
	"context"
	"sync"
)

// waiting gives a turn's seat back while it waits for children, for however
// many of them at once.
type waiting struct {
	seat Seat

	mu sync.Mutex // guards n, and the seat
	n  int
}

func (w *waiting) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n == 0 {
		w.seat.Leave()
	}
	w.n++
}

// end takes the seat again behind the last child. Until there is one, or ctx
// ends, the turn does not go on.
func (w *waiting) end(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 {
		w.seat.Return(ctx)
	}
}

// slot is a child's seat: one of the process's MaxConcurrent. Who waits is
// served in the order of coming.
type slot struct {
	slots chan struct{}
	held  bool
}

var _ Seat = (*slot)(nil)

func (s *slot) Leave() {
	if s.held {
		<-s.slots
		s.held = false
	}
}

func (s *slot) Return(ctx context.Context) {
	if s.held || ctx.Err() != nil {
		return
	}
	select {
	case s.slots <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
}
