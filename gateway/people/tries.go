package people

import (
	"sync"
	"time"
)

// How many wrong codes somebody may type in a time.
const (
	maxTries    = 5
	triesWithin = 10 * time.Minute
)

// tries counts wrong codes of those who may type any: approvers, whom the configuration names, so
// there are few. A restart forgets them.
type tries struct {
	mu   sync.Mutex
	last map[string][]time.Time // by channel and approver, of those that count
}

// begin counts one more try of somebody, before it is known how it ends, and reports whether they
// may make it.
func (t *tries) begin(who string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var recent []time.Time
	for _, at := range t.last[who] {
		if ago := now.Sub(at); ago >= 0 && ago < triesWithin {
			recent = append(recent, at)
		}
	}
	if t.last == nil {
		t.last = map[string][]time.Time{}
	}
	t.last[who] = recent
	if len(recent) >= maxTries {
		return false
	}
	t.last[who] = append(recent, now)
	return true
}

// forgive takes the last try of somebody back: it was none at guessing.
func (t *tries) forgive(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.last[who]); n > 0 {
		t.last[who] = t.last[who][:n-1]
	}
}
