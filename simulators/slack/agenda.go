package slack

import (
	"context"
	"slices"
	"sync"
	"time"
)

// agenda calls functions when they are due, one after another, on the real
// clock.
type agenda struct {
	wake chan struct{} // capacity 1

	mu    sync.Mutex
	items []item // by when they are due
}

type item struct {
	at time.Time
	do func()
}

func newAgenda() *agenda { return &agenda{wake: make(chan struct{}, 1)} }

// after notes that do is due in d, behind what is due then already. It may be called
// by anybody who holds the server's lock; do is called without it.
func (a *agenda) after(d time.Duration, do func()) {
	x := item{at: time.Now().Add(d), do: do}
	a.mu.Lock()
	at, _ := slices.BinarySearchFunc(a.items, x.at, func(y item, at time.Time) int {
		if y.at.After(at) {
			return 1
		}
		return -1
	})
	a.items = slices.Insert(a.items, at, x)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *agenda) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items = nil
}

// next takes what is due, or says how long to wait.
func (a *agenda) next() (func(), time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 {
		return nil, time.Hour
	}
	first := a.items[0]
	if left := time.Until(first.at); left > 0 {
		return nil, left
	}
	a.items = a.items[1:]
	return first.do, 0
}

// run works the agenda until ctx ends.
func (a *agenda) run(ctx context.Context) {
	for ctx.Err() == nil {
		do, wait := a.next()
		if do != nil {
			do()
			continue
		}
		select {
		case <-time.After(wait):
		case <-a.wake:
		case <-ctx.Done():
		}
	}
}
