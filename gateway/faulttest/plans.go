package faulttest

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// Plans are what happens at fault points, life by life, as PARLEY_FAULTS has it.
type Plans struct {
	rand *rand.Rand // the row's

	mu     sync.Mutex
	coming []string // of the lives to come
	always string   // of each
}

// KillAt plans n kills, one for each of the next lives, each at a hit between minimum and limit,
// by the seed, of one of the points in turn. Lives after those have none.
func (p *Plans) KillAt(n, minimum, limit int, points ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range n {
		p.coming = append(p.coming, fmt.Sprintf("%s=kill@%d", points[i%len(points)], minimum+p.rand.IntN(limit-minimum+1)))
	}
}

// Always gives every life a plan besides its own.
func (p *Plans) Always(plan string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always = plan
}

// next returns the plan of the next life.
func (p *Plans) next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.coming) == 0 {
		return p.always
	}
	plan := p.coming[0]
	p.coming = p.coming[1:]
	return plan + "," + p.always
}
