package bench

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/simulators/model"
)

// patient is a model that never answers the first call about a text, and every
// further one at once.
type patient struct {
	asked chan asking

	mu    sync.Mutex
	calls map[string]int
}

// asking is one call of the model.
type asking struct {
	at      time.Time
	process string
	nth     int // call about this text
}

var signedBy = regexp.MustCompile(signature + `(\S+)`)

func newPatient() *patient {
	return &patient{asked: make(chan asking, 1024), calls: map[string]int{}}
}

func (m *patient) answer(ctx context.Context, p *model.Prompt) model.Answer {
	a := asking{at: time.Now()}
	if s := signedBy.FindStringSubmatch(p.System); s != nil {
		a.process = s[1]
	}
	text := p.LastText()
	m.mu.Lock()
	m.calls[text]++
	a.nth = m.calls[text]
	m.mu.Unlock()
	m.asked <- a
	if a.nth == 1 {
		<-ctx.Done()
	}
	return model.Reply(model.Say(text))
}

// next is the next call, which must be the nth about its text.
func (m *patient) next(b *testing.B, nth int) asking {
	b.Helper()
	select {
	case a := <-m.asked:
		if a.nth != nth {
			b.Fatalf("the model was called for the time %d, not %d", a.nth, nth)
		}
		return a
	case <-time.After(patience):
		b.Fatalf("the model was not called for the time %d", nth)
	}
	panic("unreachable")
}

// BenchmarkKill is the process that runs a turn, killed while the model thinks:
// from the kill to the next call of the model for that turn, and to its answer.
// Embedded the process is started again at once, restart and all. Of two workers
// the other takes over, with a lease of parley's default, which is not waited for;
// or the one that was killed is started again at once.
func BenchmarkKill(b *testing.B) {
	for _, c := range []struct {
		name  string
		on    deployment
		again bool // the one that was killed starts at once
	}{
		{"embedded", embedded, true},
		{"workers=2/started-again", workers2, true},
		{"workers=2/taken-over", workers2, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			acquainted := time.Duration(0)
			if !c.again { // who is killed in the first moment of its life is followed when its lease ends
				acquainted = 2 * time.Second
			}
			interrupted(b, c.on, acquainted, func(*plan) {}, func(f *fleet, i int) {
				f.procs[i].kill()
				if c.again {
					f.again(i)
				}
			}, func(f *fleet, i int) {
				if !c.again {
					f.again(i)
				}
			})
		})
	}
}

// BenchmarkHandover is the process that runs a turn, asked to end (SIGTERM) while
// the model thinks, without any grace: from the signal to the next call of the
// model for that turn, and to its answer. Embedded the process is started again
// when it has ended.
func BenchmarkHandover(b *testing.B) {
	for _, d := range []deployment{embedded, workers2} {
		b.Run(d.name, func(b *testing.B) {
			var gone <-chan struct{}
			interrupted(b, d, 0, func(p *plan) { p.Grace = time.Millisecond }, func(f *fleet, i int) {
				gone = f.term(i)
				if d.nodes == 0 {
					<-gone
					f.again(i)
				}
			}, func(f *fleet, i int) {
				if d.nodes > 0 {
					<-gone
					f.again(i)
				}
			})
		})
	}
}

// interrupted lets one person after the other ask, does something to the process
// that runs the turn, when that has run for so long, and reports when it goes on. after is done
// when it has.
func interrupted(b *testing.B, d deployment, running time.Duration, change func(*plan), harm, after func(f *fleet, i int)) {
	b.Helper()
	m := newPatient()
	w := newWorld(b, worldOptions{Brain: m.answer})
	f := d.open(b, w, func(p *plan) {
		p.Signed = true
		change(p)
	})
	var resumed, answered []time.Duration
	person := int64(0)
	atMost(b, 10, func() {
		person++
		q := w.say(person, fmt.Sprintf("hello from %d", person))
		i := f.named(m.next(b, 1).process)
		if running > 0 {
			select { // not for an event: processes get to know each other
			case <-time.After(running):
			case <-b.Context().Done():
			}
		}
		began := time.Now()
		harm(f, i)
		resumed = append(resumed, m.next(b, 2).at.Sub(began))
		d, err := q.wait(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		answered = append(answered, q.asked.Add(d).Sub(began))
		after(f, i)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for text, n := range m.calls {
		if n != 2 {
			b.Errorf("the model was called %d times about %q", n, text)
		}
	}
	for _, r := range []struct {
		name string
		took []time.Duration
	}{{"resumed", resumed}, {"answered", answered}} {
		b.ReportMetric(milliseconds(median(r.took)), r.name+"-p50-ms")
		b.ReportMetric(milliseconds(slices.Max(r.took)), r.name+"-max-ms")
	}
}
