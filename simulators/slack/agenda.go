package slack

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// agenda calls functions when they are due, one after another, on the real
// clock.
type agenda struct {
	wake chan struct{} // capacity 1

	mu    sync.Mutex
	items items
}

type item struct {
	at time.Time
	do func()
}

type items []item

func (x items) Len() int           { return len(x) }
func (x items) Less(i, j int) bool { return x[i].at.Before(x[j].at) }
func (x items) Swap(i, j int)      { x[i], x[j] = x[j], x[i] }
func (x *items) Push(v any)        { *x = append(*x, v.(item)) }
func (x *items) Pop() any {
	last := (*x)[len(*x)-1]
	*x = (*x)[:len(*x)-1]
	return last
}

func newAgenda() *agenda { return &agenda{wake: make(chan struct{}, 1)} }

// after notes that do is due in d. It may be called by anybody who holds the
// server's lock; do is called without it.
func (a *agenda) after(d time.Duration, do func()) {
	a.mu.Lock()
	heap.Push(&a.items, item{at: time.Now().Add(d), do: do})
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
	if left := time.Until(a.items[0].at); left > 0 {
		return nil, left
	}
	return heap.Pop(&a.items).(item).do, 0
}

// run works the agenda until ctx ends.
func (a *agenda) run(ctx context.Context) {
	for ctx.Err() == nil {
		do, wait := a.next()
		if do != nil {
			do()
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-a.wake:
		case <-ctx.Done():
		}
		t.Stop()
	}
}
