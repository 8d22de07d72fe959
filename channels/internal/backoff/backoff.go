// Package backoff is the pauses between tries that fail: each longer than the one
// before, and spread, so that many who failed together do not come back together.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"

	"parley/pause"
)

// Pauses are those of one thing that is tried again and again. It is one
// goroutine's.
type Pauses struct {
	Min, Max time.Duration  // the first and the longest, before they are spread
	Jitter   func() float64 // in [0,1); nil: random

	failed int // in a row
}

// Next counts one more failure and gives the pause that it asks for: twice the one
// before, up to Max, spread between half and all of it.
func (p *Pauses) Next() time.Duration {
	d := p.Min
	for range p.failed {
		if d >= p.Max/2 {
			d = p.Max
			break
		}
		d *= 2
	}
	p.failed++
	jitter := p.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	return d/2 + time.Duration(jitter()*float64(d/2))
}

// Wait waits for Next, or until ctx ends.
func (p *Pauses) Wait(ctx context.Context) { _ = pause.For(ctx, p.Next()) }

// Failures returns how many failures there were since Reset.
func (p *Pauses) Failures() int { return p.failed }

// Reset forgets the failures: something worked.
func (p *Pauses) Reset() { p.failed = 0 }
