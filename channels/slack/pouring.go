package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// errStalled is why a file that stood still was given up.
var errStalled = errors.New("nothing moved in time")

// stalls gives a context that ends when moves was not called for d. stop lets go
// of it.
func stalls(ctx context.Context, d time.Duration) (_ context.Context, moves, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(d, func() { cancel(errStalled) })
	return ctx, func() { t.Reset(d) }, func() {
		t.Stop()
		cancel(nil)
	}
}

// moving says of each piece that is written that something moves.
type moving struct {
	to    io.Writer
	moves func()
}

func (m *moving) Write(b []byte) (int, error) {
	n, err := m.to.Write(b)
	m.moves()
	return n, err
}

// errStopped is what a reader gets that goes on behind our back.
var errStopped = errors.New("the request has ended")

// pouring is the body of a request while it is read: content of a length, which is
// read by nobody any more once it was stopped.
type pouring struct {
	moves func()

	mu      sync.Mutex // guards the rest; held while content is read
	from    io.Reader
	left    int64
	err     error // of from
	stopped bool
}

// Read gives the content. One that ends before its length is an error.
func (p *pouring) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return 0, errStopped
	case p.err != nil:
		return 0, p.err
	case p.left == 0:
		return 0, io.EOF
	}
	n, err := p.from.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	p.moves()
	switch {
	case p.left == 0:
		err = nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("%d bytes are missing at its end: %w", p.left, io.ErrUnexpectedEOF)
	}
	p.err = err
	return n, err
}

// stop waits for a read that is under way and lets none follow. It says whether all
// of the content was given, and what was wrong with it.
func (p *pouring) stop() (whole bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	return p.left == 0, p.err
}
