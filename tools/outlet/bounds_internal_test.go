package outlet

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A connection ends when nothing was said on it for a while, in either direction.
func TestConnectionsEndWhenIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		forgotten := 0
		b := newBounded(near, func(io.Closer) { forgotten++ })
		go func() { _, _ = io.Copy(io.Discard, far) }()
		for range 3 {
			time.Sleep(idleTime - time.Second)
			if _, err := b.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := b.Read(make([]byte, 1)); err == nil || time.Since(began) != idleTime {
			t.Errorf("it ended after %s with %v", time.Since(began), err)
		}
		if _, err := b.Write([]byte("x")); err == nil {
			t.Error("it can be written to still")
		}
		_, _ = b.Close(), b.Close()
		if forgotten != 1 {
			t.Errorf("forgotten %d times", forgotten)
		}
	})
}

func TestConnectionsEndWhenTooMuchWentThrough(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	b := newBounded(near, func(io.Closer) {})
	defer func() { _ = b.Close() }()
	b.left.Store(5)
	go func() { _, _ = io.ReadFull(far, make([]byte, 3)); _, _ = io.WriteString(far, "xyz") }()
	if n, err := b.Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := b.Read(make([]byte, 3)); n != 3 || !errors.Is(err, errTooMuch) {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("the other end goes on")
	}
}

// Connections beyond the bound wait until one is closed, and a listener that is closed lets
// nobody wait.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	inner, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limitConnections(inner, 1)
	for range 2 {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan net.Conn)
	go func() {
		c, _ := l.Accept()
		second <- c
	}()
	if len(l.slots) != 1 {
		t.Errorf("%d slots are taken", len(l.slots))
	}
	select {
	case <-second:
		t.Fatal("the second was taken beside the first")
	default:
	}
	_, _ = first.Close(), first.Close()
	c := <-second
	defer func() { _ = c.Close() }()
	third := make(chan error)
	go func() {
		_, err := l.Accept()
		third <- err
	}()
	_, _ = l.Close(), l.Close()
	if err := <-third; !errors.Is(err, net.ErrClosed) {
		t.Errorf("who waits when it is closed gets %v", err)
	}
}
