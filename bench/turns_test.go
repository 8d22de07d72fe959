package bench

import (
	"sync"
	"testing"
	"time"
)

const (
	manyChats = 64
	warmTurns = 4   // of each lane, before anything is measured
	turnsOnce = 512 // turns that parley may run at once
)

// BenchmarkOneChat is one person who asks, reads and asks again: the latency
// that a system adds.
func BenchmarkOneChat(b *testing.B) {
	eachOf(b, append(systems, relaxed), func(b *testing.B, system string) {
		w := newWorld(b, worldOptions{})
		c := start(b, w, system, turnsOnce)
		oneAfterAnother(b, w, c)
	})
}

// oneAfterAnother is a person who asks, waits and asks again.
func oneAfterAnother(b *testing.B, w *world, c measured) {
	b.Helper()
	l := &lane{w: w}
	ask := func() time.Duration {
		d, err := l.ask(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	for range 10 * warmTurns {
		ask()
	}
	var took []time.Duration
	before := c.usage()
	for b.Loop() {
		took = append(took, ask())
	}
	report(b, c, before, took, 0)
}

// BenchmarkManyChats is 64 people at once, each of whom asks again when the
// answer is there: the work that a system does for a turn, and how much of it
// two cores can do.
func BenchmarkManyChats(b *testing.B) {
	eachOf(b, append(systems, relaxed), func(b *testing.B, system string) {
		w := newWorld(b, worldOptions{})
		manyAtOnce(b, w, start(b, w, system, turnsOnce))
	})
}

// manyAtOnce is 64 people, each of whom asks again when the answer is there.
func manyAtOnce(b *testing.B, w *world, c measured) {
	b.Helper()
	lanes := make([]*lane, manyChats)
	took := make([][]time.Duration, manyChats)
	for i := range lanes {
		lanes[i] = &lane{w: w, no: int64(i)}
	}
	var warm sync.WaitGroup
	for _, l := range lanes {
		warm.Go(func() {
			for range warmTurns {
				if _, err := l.ask(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	warm.Wait()
	if b.Failed() {
		return
	}

	turns := make(chan struct{})
	var asking sync.WaitGroup
	for i, l := range lanes {
		asking.Go(func() {
			for range turns {
				d, err := l.ask(b.Context())
				if err != nil {
					b.Error(err)
					continue
				}
				took[i] = append(took[i], d)
			}
		})
	}
	before := c.usage()
	for b.Loop() {
		turns <- struct{}{}
	}
	close(turns)
	asking.Wait()
	var all []time.Duration
	for _, t := range took {
		all = append(all, t...)
	}
	report(b, c, before, all, 0)
}
