package receive

import (
	"context"
	"sync"
)

// Gate lets the requests of a webhook in while Receive runs, and hands them the
// receiver. The zero Gate is closed. Its methods may be called concurrently.
type Gate[R any] struct {
	mu       sync.Mutex
	receiver *R              // nil: closed
	ctx      context.Context // of Receive
	inside   sync.WaitGroup  // requests that were let in; grows under mu only
}

// Open lets requests in. ctx is that of Receive.
func (g *Gate[R]) Open(ctx context.Context, r *R) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx, g.receiver = ctx, r
}

// Close keeps requests out and waits for those inside.
func (g *Gate[R]) Close() {
	g.mu.Lock()
	g.ctx, g.receiver = nil, nil
	g.mu.Unlock()
	g.inside.Wait()
}

// Enter lets a request in, until it calls leave, and returns what Open was given.
// While the gate is closed the receiver is nil, and there is nothing to leave.
func (g *Gate[R]) Enter() (r *R, receiving context.Context, leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.receiver == nil {
		return nil, nil, nil
	}
	g.inside.Add(1)
	return g.receiver, g.ctx, g.inside.Done
}
