package mcp

import (
	"errors"
	"io"
	"testing"
)

// What a server does not read is bounded, and holds up nobody.
func TestQueue(t *testing.T) {
	t.Parallel()
	q := newQueue()
	piece := make([]byte, 1<<20)
	for range maxWaiting / len(piece) {
		if _, err := q.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Write([]byte("x")); !errors.Is(err, errDeaf) {
		t.Errorf("more than it holds: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if _, err := q.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after its end: %v", err)
	}
	if b, err := io.ReadAll(q); len(b) != maxWaiting || err != nil {
		t.Errorf("%d bytes are read, %v", len(b), err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var l tail
	for _, s := range []string{"first\n", string(make([]byte, maxTail)), "at \x1b[31mlast\n"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Error(n, err)
		}
	}
	if got := l.String(); got != "at [31mlast" {
		t.Errorf("%q", got)
	}
}
