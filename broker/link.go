package broker

import (
	"context"
	"sync"
)

// connState knows whether the connection is up, so that a caller that waits for an answer
// that was lost with it need not wait any longer.
type connState struct {
	mu       sync.Mutex
	ctx      context.Context // ends when the connection does; guarded by mu, like the others
	cancel   context.CancelFunc
	restored chan struct{} // not nil while the connection is down: closed when it is up again
}

func (l *connState) markUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	if l.restored != nil {
		close(l.restored)
		l.restored = nil
	}
}

func (l *connState) markDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	if l.restored == nil {
		l.restored = make(chan struct{})
	}
}

// wait returns when the connection is up, or ctx ends.
func (l *connState) wait(ctx context.Context) {
	l.mu.Lock()
	back := l.restored
	l.mu.Unlock()
	if back == nil {
		return
	}
	select {
	case <-back:
	case <-ctx.Done():
	}
}

// untilDown returns ctx, ended also with the connection.
func (l *connState) untilDown(ctx context.Context) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	up := l.ctx
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	stop := context.AfterFunc(up, cancel)
	return ctx, func() { stop(); cancel() }
}
