// Package transfer is the bytes of a file on their way between a network and
// parley: never whole in memory, counted, and given up when they stand still.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Why a content is not what was said of it.
var (
	ErrShort   = errors.New("the content of the file ended before its size was reached")
	ErrLong    = errors.New("the content of the file goes on beyond its size")
	ErrStopped = errors.New("the content of the file is no longer read")
)

// Content is a file on its way out. It gives exactly size bytes of its reader,
// or an error before the last of them: a request that announced its length is
// then broken, and what it asks for does not happen. Its methods may be called
// concurrently, as HTTP clients do who read a request's body while another
// goroutine has the answer already.
type Content struct {
	size int64

	mu      sync.Mutex // guards everything below
	r       io.Reader
	left    int64
	err     error
	stopped bool
}

// NewContent gives the content of size bytes that r has.
func NewContent(r io.Reader, size int64) *Content { return &Content{r: r, size: size, left: size} }

func (c *Content) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return 0, ErrStopped
	case c.err != nil:
		return 0, c.err
	case c.left == 0:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	switch {
	case err != nil && err != io.EOF: // one that wraps io.EOF is a line that broke off, not the end
		c.err = err
	case c.left == 0 && err == nil:
		// Nobody gets the last bytes before it is sure that they are the last.
		c.err = c.checkEnd()
	case c.left > 0 && err != nil:
		c.err = fmt.Errorf("%w: %d of %d bytes", ErrShort, c.size-c.left, c.size)
	}
	if c.err != nil {
		return 0, c.err
	}
	return n, nil
}

// checkEnd reports whether the reader has nothing more.
func (c *Content) checkEnd() error {
	var more [1]byte
	n, err := io.ReadFull(c.r, more[:])
	switch {
	case n > 0:
		return fmt.Errorf("%w of %d bytes", ErrLong, c.size)
	case err == io.EOF: // one that wraps io.EOF is a line that broke off, not the end
		return nil
	}
	return err // the reader's own
}

// Stop returns when nobody reads the reader any more. Whoever tries later gets
// ErrStopped.
func (c *Content) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}

// Err is what was wrong with the content: an error of its reader, ErrShort or
// ErrLong; nil as long as nothing was.
func (c *Content) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// IdleTimer ends a context when nothing has moved for a while: a large file may
// take long, but not stand still.
type IdleTimer struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// NewIdleTimer gives a context that ends with the cause when Moved is not called
// for most, and who keeps it alive. Stop must be called.
func NewIdleTimer(ctx context.Context, limit time.Duration, cause error) (context.Context, *IdleTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &IdleTimer{limit, time.AfterFunc(limit, func() { cancel(cause) }), cancel}
}

// Reset announces that something has moved.
func (p *IdleTimer) Reset() { p.timer.Reset(p.limit) }

// ResetTo gives the rest another time, as from now.
func (p *IdleTimer) ResetTo(limit time.Duration) { p.timer.Reset(limit) }

// Stop lets go of the context.
func (p *IdleTimer) Stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// Body is a request that carries a file. It knows when it has left: nobody can have
// the whole before its last byte was read.
type Body struct {
	parts       io.Reader
	size        int64
	left        int64 // the reader's own
	mayHaveLeft atomic.Bool
	timer       *IdleTimer
	answer      time.Duration
}

// NewBody gives a request of size bytes. It tells p of what moves, and gives p
// another time once all has left: the answer may take longer than one piece.
func NewBody(p *IdleTimer, answer time.Duration, size int64, parts ...io.Reader) *Body {
	return &Body{parts: io.MultiReader(parts...), size: size, left: size, timer: p, answer: answer}
}

func (b *Body) Read(p []byte) (int, error) {
	n, err := b.parts.Read(p)
	b.left -= int64(n)
	if b.left == 0 {
		b.mayHaveLeft.Store(true)
		b.timer.ResetTo(b.answer)
	} else {
		b.timer.Reset()
	}
	return n, err // who reads looks for io.EOF
}

// Size returns how many bytes it has.
func (b *Body) Size() int64 { return b.size }

// MayHaveLeft reports whether all of it may have left.
func (b *Body) MayHaveLeft() bool { return b.mayHaveLeft.Load() }

// Copy writes what r gives into w, and tells p of it; the time that w takes does
// not count. Of its errors reading is r's, and writing is w's.
func Copy(w io.Writer, r io.Reader, p *IdleTimer) (n int64, reading, writing error) {
	buffer := make([]byte, 64<<10)
	for {
		got, err := r.Read(buffer)
		p.timer.Stop()
		if got > 0 {
			put, err := w.Write(buffer[:got])
			n += int64(put)
			if err == nil && put < got {
				err = io.ErrShortWrite
			}
			if err != nil {
				return n, nil, err
			}
		}
		p.Reset()
		switch {
		case err == io.EOF: // one that wraps io.EOF is a line that broke off, not the end
			return n, nil, nil
		case err != nil:
			return n, err, nil
		}
	}
}
