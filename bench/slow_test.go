package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/simulators/model"
)

// BenchmarkSlowNeighbour is 1,000 people who write 50 messages a second, each of
// them twice, with and without one session more whose model call takes 60
// seconds. Nothing is raised: 32 turns at once in a process. The slow call may be
// cut short at the end; its answer must come.
func BenchmarkSlowNeighbour(b *testing.B) {
	const slow, person = "a slow question", 1_000_000
	people, rate := tenth(1000), 50
	for _, d := range []deployment{embedded, workers2} {
		for _, slowOnes := range []int{0, 1} {
			b.Run(fmt.Sprintf("%s/slow=%d", d.name, slowOnes), func(b *testing.B) {
				asked, enough := make(chan struct{}, 1), make(chan struct{})
				w := newWorld(b, worldOptions{Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
					if p.LastText() == slow {
						asked <- struct{}{}
						select {
						case <-time.After(time.Minute):
						case <-enough:
						case <-ctx.Done():
						}
					}
					return model.Echo(ctx, p)
				}})
				f := d.open(b, w, nil)
				everybodyOnce(b, w, int64(people))
				atMost(b, 1, func() {
					var q *question
					if slowOnes > 0 {
						q = w.say(person, slow)
						<-asked
					}
					before := f.usage()
					took := w.paced(b, pace{Rate: rate, Messages: 2 * people, People: people})
					report(b, f, before, took, 0)
					close(enough)
					if q != nil {
						if _, err := q.wait(b.Context()); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}

// tenth is n, or a tenth with -short: to see that a benchmark works.
func tenth(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// pace is how people write: in turn, whoever's turn it is, in even intervals,
// whether others were answered or not.
type pace struct {
	Rate     int // messages a second
	Messages int // in all
	People   int // a person who was not answered yet waits with the next one, and so do all
}

// paced lets people write, and returns what the answers took.
func (w *world) paced(b *testing.B, p pace) []time.Duration {
	var (
		mu      sync.Mutex
		took    []time.Duration
		waiting sync.WaitGroup
		last    = make([]chan struct{}, p.People)
	)
	tick := time.NewTicker(time.Second / time.Duration(p.Rate))
	defer tick.Stop()
	for n := range p.Messages {
		select {
		case <-tick.C:
		case <-b.Context().Done():
			return took
		}
		i := n % p.People
		if last[i] != nil {
			<-last[i]
		}
		done := make(chan struct{})
		last[i] = done
		q := w.say(int64(1+i), fmt.Sprintf("message %d of %d", n, 1+i))
		waiting.Go(func() {
			defer close(done)
			d, err := q.wait(b.Context())
			if err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, d)
		})
	}
	waiting.Wait()
	return took
}
