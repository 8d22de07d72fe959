package faulttest

import "sync"

// Pace is how much people may say. Until a row awaits what they say they may say all.
type Pace struct {
	questions int // that they have in all

	mu     sync.Mutex
	said   int
	slow   bool // only left more
	left   int
	rounds int // to come, at least
}

// SetRounds says how often the row will call [Run.AwaitSent], at least: the load is dealt out
// over them. Without it that is four times.
func (p *Pace) SetRounds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rounds = n
}

// SayMore lets people say n more messages than [Run.AwaitSent] does.
func (p *Pace) SayMore(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += n
}

// deal lets people say need more messages, each of which has an answer, and half of
// a round's share: it is dealt before and after what is waited for.
func (p *Pace) deal(need int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = true
	p.left = need + max(p.questions-p.said-need*p.rounds, 0)/(2*p.rounds+2)
}

// endRound deals what may be said until the next round.
func (p *Pace) endRound() {
	p.deal(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rounds = max(p.rounds-1, 1)
}

// hurry lets people say all they have to say.
func (p *Pace) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = false
}

// tryNext reports whether another message may be said now, and counts it.
func (p *Pace) tryNext() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow {
		if p.left == 0 {
			return false
		}
		p.left--
	}
	p.said++
	return true
}
