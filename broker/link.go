package broker

import (
	"context"
	"sync"
)

// link knows whether the connection is up, so that whoever waits for an answer
// that was lost with it need not wait any longer.
type link struct {
	mu     sync.Mutex
	ctx    context.Context // ends when the connection does; guarded by mu, like the others
	cancel context.CancelFunc
	back   chan struct{} // not nil while the connection is down: closed when it is up again
}

func (l *link) up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	if l.back != nil {
		close(l.back)
		l.back = nil
	}
}

func (l *link) down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	if l.back == nil {
		l.back = make(chan struct{})
	}
}

// wait returns when the connection is up, or ctx ends.
func (l *link) wait(ctx context.Context) {
	l.mu.Lock()
	back := l.back
	l.mu.Unlock()
	if back == nil {
		return
	}
	select {
	case <-back:
	case <-ctx.Done():
	}
}

// whileUp is ctx, ended also with the connection.
func (l *link) whileUp(ctx context.Context) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	up := l.ctx
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	stop := context.AfterFunc(up, cancel)
	return ctx, func() { stop(); cancel() }
}
