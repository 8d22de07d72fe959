// Package stage is what every simulator stands on, whatever it simulates.
//
// Life is a server's socket and the time in which it serves. Shelf and Records are
// its books, bounded, and how to wait for an entry. Audience is who watches, Plans
// which faults fall when, Refused how the rules of a network end a call, and the
// Write functions what a spoilt answer looks like; Control is the interface for a
// harness in another process. What a network says and does is the simulator's own.
package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Life is a server's socket and the time in which it serves. Its methods may be
// called concurrently.
type Life struct {
	name, addr string
	stop       context.Context // ends when Serve does
	stopped    context.CancelFunc

	mu       sync.Mutex   // guards what is below
	listener net.Listener // nil before Listen
	over     bool         // it was run or closed
}

// NewLife returns the life of a server at addr and the context of all that
// happens in it, which ends before connections are closed. Errors begin with name.
func NewLife(name, addr string) (*Life, context.Context) {
	l := &Life{name: name, addr: addr}
	l.stop, l.stopped = context.WithCancel(context.Background())
	return l, l.stop
}

// Listen opens the socket, so that URL is known before Run, which listens by
// itself when that was not done. It does nothing while the server listens.
func (l *Life) Listen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(l.stop, "tcp", l.addr)
	if err != nil {
		return fmt.Errorf("%s: listen: %w", l.name, err)
	}
	l.listener = listener
	return nil
}

// URL returns the server's root, http://host:port without a trailing slash; empty
// before Listen.
func (l *Life) URL() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener == nil {
		return ""
	}
	return "http://" + l.listener.Addr().String()
}

// Close closes the socket of a server that will not run, and ends its context. It
// does nothing when the server runs, or ran: Run closes the socket by itself.
func (l *Life) Close() error {
	listener, ok := l.claimSocket()
	if !ok {
		return nil
	}
	l.stopped()
	if listener == nil {
		return nil
	}
	return listener.Close()
}

// claimSocket returns the socket to the first who asks, who has to close it, and false to
// all others.
func (l *Life) claimSocket() (net.Listener, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, false
	}
	l.over = true
	return l.listener, true
}

// Default gives what every simulator of a network is told a value where it has none: a
// free port of 127.0.0.1, time.Now, 100 000 entries in each list of the books, and
// 10 000 messages in each conversation.
func Default(addr *string, now *func() time.Time, keep, history *int) {
	*addr = cmp.Or(*addr, "127.0.0.1:0")
	if *now == nil {
		*now = time.Now
	}
	*keep, *history = cmp.Or(*keep, 100_000), max(cmp.Or(*history, 10_000), 1)
}

// Seconds rounds up: no network asks to wait for less than one.
func Seconds(d time.Duration) int {
	return max(int((d+time.Second-1)/time.Second), 1)
}

// Play is what a server does while it runs. Only Handler is required.
type Play struct {
	Handler http.Handler
	Beside  func(ctx context.Context) // runs beside the handler until ctx ends
	Ending  func()                    // is called when Beside has returned; ends connections that would stay
	Ended   func()                    // is called when no connection is left
	Tune    func(*http.Server)        // sets bounds of its own
}

// Serve plays p until ctx ends; then requests are cut off, and everything has
// stopped when it returns. A server runs once. The error is nil after an ordinary
// end.
func Serve(ctx context.Context, l *Life, p Play) error {
	if err := l.Listen(); err != nil {
		return err
	}
	listener, ok := l.claimSocket()
	if !ok {
		return fmt.Errorf("%s: the server has already run", l.name)
	}
	h := &http.Server{
		Handler: p.Handler, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return l.stop },
	}
	closeUnused(h)
	if p.Tune != nil {
		p.Tune(h)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(listener) }()
	var beside sync.WaitGroup
	if p.Beside != nil {
		beside.Go(func() { p.Beside(l.stop) })
	}
	select {
	case err := <-served:
		served <- err
	case <-ctx.Done():
	}
	l.stopped()
	beside.Wait()
	if p.Ending != nil {
		p.Ending()
	}
	err := shutDown(ctx, h)
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if p.Ended != nil {
		p.Ended()
	}
	if err != nil {
		return fmt.Errorf("%s: serve: %w", l.name, err)
	}
	return nil
}

// closeUnused closes, at the shutdown of h, connections on which nothing was ever
// asked: Shutdown would wait for them.
func closeUnused(h *http.Server) {
	var unused sync.Map
	h.ConnState = func(c net.Conn, is http.ConnState) {
		if unused.Delete(c); is == http.StateNew {
			unused.Store(c, nil)
		}
	}
	h.RegisterOnShutdown(func() {
		unused.Range(func(c, _ any) bool {
			_ = c.(net.Conn).Close()
			return true
		})
	})
}

// shutDown waits for the requests to end. Those that are left after a while came
// at the last moment, or write to a client that does not read.
func shutDown(ctx context.Context, h *http.Server) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := h.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, h.Close())
}

// Pause waits for d. It returns false when one of the contexts ended before.
func Pause(d time.Duration, request, server context.Context) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-request.Done():
	case <-server.Done():
	}
	return false
}
