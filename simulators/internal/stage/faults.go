package stage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// ErrFault means that a fault cannot be planned.
var ErrFault = errors.New("fault cannot be planned")

// Timing describes which of the calls that a fault matches it falls on. Without Next,
// Every and Probability it is every one.
type Timing struct {
	Skip        int     // matching calls that pass first
	Next        int     // falls after which the plan ends
	Every       int     // it falls on each k-th
	Probability float64 // it falls on a seeded draw
}

// Plannable is a fault of a simulator.
type Plannable interface {
	// Check returns why the fault cannot be planned, beside its timing.
	Check() error
	// Timing returns which of the calls that the fault matches it falls on.
	Timing() Timing
}

// Plans are the faults that are planned, in their order. The zero Plans are empty.
// Plan may be called concurrently.
type Plans[F Plannable] struct {
	mu   sync.Mutex
	list []*planned[F]
}

// planned is a fault of the plan, and how often it was matched and fell.
type planned[F any] struct {
	fault      F
	seen, fell int
}

// Plan adds faults behind those that are planned. Nothing is added when one of them is
// unknown or has a number out of range.
func (p *Plans[F]) Plan(fs ...F) error {
	for _, f := range fs {
		if err := f.Check(); err != nil {
			return err
		}
		if t := f.Timing(); t.Probability < 0 || t.Probability > 1 || min(t.Skip, t.Next, t.Every) < 0 {
			return fmt.Errorf("%w: a number is out of range: %+v", ErrFault, t)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range fs {
		p.list = append(p.list, &planned[F]{fault: f})
	}
	return nil
}

// Clear ends all plans.
func Clear[F Plannable](p *Plans[F]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = nil
}

// Draw returns the first fault that matches and falls, or nil. It counts the call
// for each that matches up to that one.
func Draw[F Plannable](p *Plans[F], rng *rand.Rand, matches func(*F) bool) *F {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.list {
		if !matches(&one.fault) {
			continue
		}
		t := one.fault.Timing()
		if !one.fires(t, rng) {
			continue
		}
		if t.Next > 0 && one.fell >= t.Next {
			p.list = slices.Delete(p.list, i, i+1)
		}
		return &one.fault
	}
	return nil
}

// fires counts a matching call and reports whether the fault falls on it.
func (p *planned[F]) fires(t Timing, rng *rand.Rand) bool {
	p.seen++
	if p.seen <= t.Skip {
		return false
	}
	if t.Every > 0 && (p.seen-t.Skip)%t.Every != 0 {
		return false
	}
	if t.Probability > 0 && rng.Float64() >= t.Probability {
		return false
	}
	p.fell++
	return true
}

// NewRand returns the source of all that is random in a simulator: equal seeds give
// equal runs.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)) }
