package page

import "time"

// How often somebody may try to log in: from one address five times at once, and then every twelve
// seconds; from all together thirty times, and then every two seconds. One who gets in uses up
// nothing.
const (
	triesOfOne, oneEvery = 5, 12 * time.Second
	triesOfAll, allEvery = 30, 2 * time.Second
	maxAddresses         = 1024 // that are remembered; with more, all wait for the bucket of all
)

// throttle counts tries. Its owner guards it.
type throttle struct {
	all bucket
	one map[string]*bucket
}

// bucket holds how many tries were used, as of a time.
type bucket struct {
	used float64
	at   time.Time
}

// drain makes tries free again that time has given back.
func (b *bucket) drain(now time.Time, every time.Duration) {
	if passed := now.Sub(b.at); passed > 0 {
		b.used = max(0, b.used-float64(passed)/float64(every))
	}
	b.at = now
}

// take uses up a try; false: there is none.
func (t *throttle) take(from string, now time.Time) bool {
	t.all.drain(now, allEvery)
	if t.one == nil {
		t.one = map[string]*bucket{}
	}
	for address, b := range t.one {
		if b.drain(now, oneEvery); b.used == 0 {
			delete(t.one, address)
		}
	}
	b := t.one[from]
	if b == nil {
		b = &bucket{at: now}
		if len(t.one) < maxAddresses {
			t.one[from] = b
		}
	}
	if b.used > triesOfOne-1 || t.all.used > triesOfAll-1 {
		return false
	}
	b.used++
	t.all.used++
	return true
}

// giveBack makes a try free that was used up.
func (t *throttle) giveBack(from string) {
	t.all.used = max(0, t.all.used-1)
	if b := t.one[from]; b != nil {
		b.used = max(0, b.used-1)
	}
}
