package worker_test

import (
	"sync"
	"testing"
	"time"
)

// gates are where the model and tools wait. Its methods may be called concurrently.
type gates struct {
	t       testing.TB
	gating  sync.Mutex               // guards what follows
	reached map[string]chan struct{} // closed when somebody came to a gate
	opened  map[string]chan struct{}
}

func newGates(t testing.TB) *gates {
	t.Helper()
	return &gates{t: t, reached: map[string]chan struct{}{}, opened: map[string]chan struct{}{}}
}

func (g *gates) gate(name string) (reached, open chan struct{}) {
	g.gating.Lock()
	defer g.gating.Unlock()
	if g.opened[name] == nil {
		g.reached[name], g.opened[name] = make(chan struct{}), make(chan struct{})
	}
	return g.reached[name], g.opened[name]
}

func (g *gates) open(name string) {
	_, open := g.gate(name)
	close(open)
}

// atGate waits until the model has come to the gate.
func (g *gates) atGate(name string) {
	g.t.Helper()
	reached, _ := g.gate(name)
	select {
	case <-reached:
	case <-time.After(patience):
		g.t.Fatalf("the model did not come to %q", name)
	}
}

func (g *gates) reach(reached chan struct{}) {
	g.gating.Lock()
	defer g.gating.Unlock()
	select {
	case <-reached:
	default:
		close(reached)
	}
}
