package stage

import (
	"context"
	"sync"
)

// maxBehind is how many happenings a slow watcher may lag behind.
const maxBehind = 1024

// Audience is who watches what happens. The zero Audience is empty. Its methods may
// be called concurrently.
type Audience[H any] struct {
	mu       sync.Mutex
	watchers map[chan H]struct{}
}

// Watch delivers what happens from now on until ctx ends, when the channel is
// closed. A watcher more than 1024 happenings behind misses the next ones; they are
// counted in Totals.Missed. The books miss nothing.
func (a *Audience[H]) Watch(ctx context.Context) <-chan H {
	c := make(chan H, maxBehind)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watchers == nil {
		a.watchers = map[chan H]struct{}{}
	}
	a.watchers[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watchers, c)
		close(c)
	})
	return c
}

// Show tells the watchers and returns how many of them missed it. It does not wait
// for them.
func Show[H any](a *Audience[H], h H) (missed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.watchers {
		select {
		case c <- h:
		default:
			missed++
		}
	}
	return missed
}
