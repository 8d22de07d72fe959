package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// tape keeps what a process writes to its standard error, and can be read meanwhile.
type tape struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed at the next write
}

func newTape() *tape { return &tape{changed: make(chan struct{})} }

func (p *tape) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
	return p.text.Write(b)
}

func (p *tape) String() string {
	text, _ := p.now()
	return text
}

func (p *tape) now() (text string, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String(), p.changed
}

// awaitLines returns the whole lines that were written, as soon as so many of them hold
// text.
func (p *tape) awaitLines(t *testing.T, n int, text string) []string {
	t.Helper()
	limit := time.After(patience)
	for {
		all, changed := p.now()
		lines := strings.SplitAfter(all, "\n")
		lines = lines[:len(lines)-1] // the last one is not whole
		found := 0
		for _, l := range lines {
			if strings.Contains(l, text) {
				found++
			}
		}
		if found >= n {
			return lines
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%d lines with %q do not come:\n%s", n, text, all)
		}
	}
}
