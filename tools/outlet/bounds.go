package outlet

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

var errTooMuch = errors.New("more went through one connection than may")

// bounded is a connection to a host that ends when nothing goes through it for idleTime, and
// when maxBytes have.
type bounded struct {
	net.Conn

	left   atomic.Int64
	idle   *time.Timer
	forget func(io.Closer) // called once
	closed sync.Once
}

func newBounded(c net.Conn, forget func(io.Closer)) *bounded {
	b := &bounded{Conn: c, forget: forget}
	b.left.Store(maxBytes)
	b.idle = time.AfterFunc(idleTime, func() { _ = b.Conn.Close() })
	return b
}

// Read implements [net.Conn].
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	return b.count(n, err)
}

// Write implements [net.Conn].
func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	return b.count(n, err)
}

func (b *bounded) count(n int, err error) (int, error) {
	b.idle.Reset(idleTime)
	if b.left.Add(-int64(n)) < 0 {
		_ = b.Conn.Close()
		return n, errTooMuch
	}
	return n, err
}

// CloseWrite says to the host that nothing more comes.
func (b *bounded) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() // as it is
	}
	return b.Close()
}

// Close implements [net.Conn].
func (b *bounded) Close() error {
	err := b.Conn.Close()
	b.closed.Do(func() {
		b.idle.Stop()
		b.forget(b)
	})
	return err // as it is
}

// limited is a listener that holds so many connections at a time. Further ones wait until
// one is closed, in the kernel's queue.
type limited struct {
	net.Listener

	slots chan struct{}
	over  chan struct{} // closed by Close
	once  sync.Once
}

func limitConnections(l net.Listener, most int) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, most), over: make(chan struct{})}
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err // as it is
	}
	return &taken{Conn: c, free: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements [net.Listener].
func (l *limited) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close() // as it is
}

// taken is a connection that has one of the slots.
type taken struct {
	net.Conn

	free func()
}

// CloseWrite says to the program that nothing more comes.
func (t *taken) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() // as it is
	}
	return t.Close()
}

// Close implements [net.Conn].
func (t *taken) Close() error {
	defer t.free()
	return t.Conn.Close() // as it is
}
