package bench

import (
	"fmt"
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

// historyTurns is how many turns a conversation has before it is measured.
const historyTurns = 25

// BenchmarkManyChatsHistory is ManyChats of people who have talked for a while already, over
// OpenAI's Chat Completions: what a turn costs of which the request is long. Up to five
// times 64 new people talk for 25 turns, and then for 8 more that are measured.
func BenchmarkManyChatsHistory(b *testing.B) {
	eachOf(b, []string{"durable", "parley"}, func(b *testing.B, system string) {
		w := newWorld(b, worldOptions{})
		c := launch(b, w, plan{System: system, Dir: b.TempDir(), Turns: turnsOnce, Chat: true})
		const more = 8
		var spent usage
		var lasted time.Duration
		var took []time.Duration
		person := int64(0)
		atMost(b, 5, func() {
			first := person + 1
			person += manyChats
			ask := func(turns int) (all []time.Duration) {
				var mu sync.Mutex
				sayAll(b, manyChats, manyChats, func(n int64) error {
					for turn := range turns {
						d, err := w.say(first+n-1, fmt.Sprintf("hello for the time %d of %d", turn, turns)).wait(b.Context())
						if err != nil {
							return err
						}
						mu.Lock()
						all = append(all, d)
						mu.Unlock()
					}
					return nil
				})
				return all
			}
			ask(historyTurns)
			before := c.usage()
			took = append(took, ask(more)...)
			after := c.usage()
			spent.cpu, spent.ok = spent.cpu+after.cpu-before.cpu, after.ok
			lasted += after.at.Sub(before.at)
		})
		if len(took) == 0 {
			b.FailNow()
		}
		n := float64(len(took))
		b.ReportMetric(n/lasted.Seconds(), "turns/s")
		reportTimes(b, took, 0)
		if spent.ok {
			b.ReportMetric(spent.cpu.Seconds()/n*1000, "cpu-s/1000turns")
		}
	})
}
