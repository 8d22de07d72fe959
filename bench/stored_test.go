package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/simulators/model"
)

// BenchmarkStored is a process that starts with that many conversations stored,
// each of one turn, while a message of a known person waits for it: medians of
// up to five starts, and what it holds in memory after that answer. Filling
// takes a while and is not measured.
func BenchmarkStored(b *testing.B) {
	for _, people := range []int64{1000, 100_000} {
		b.Run(fmt.Sprintf("sessions=%d", people), func(b *testing.B) {
			w := newWorld(b, worldOptions{})
			dir := b.TempDir()
			fill(b, w, dir, people)
			var ready, reply []time.Duration
			var held []int64
			turn := int64(0)
			atMost(b, 5, func() {
				turn++
				q := w.say(turn, fmt.Sprintf("hello again for the time %d", turn))
				q.asked = time.Now()
				c := startIn(b, w, "parley", turnsOnce, dir)
				d, err := q.wait(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				now, _, _ := memory(b, c.cmd.Process.Pid)
				ready, reply, held = append(ready, c.ready), append(reply, d), append(held, now)
				c.stop()
			})
			b.ReportMetric(milliseconds(median(ready)), "ready-ms")
			b.ReportMetric(milliseconds(median(reply)), "first-reply-ms")
			b.ReportMetric(megabytes(median(held)), "after-MB")
		})
	}
}

// BenchmarkStoredHistory is a process that starts with one conversation of that many
// messages stored, while the next one of that waits: medians of up to five starts. The
// model's window is small, so that it stands at summaries, as a conversation that long
// does. Filling takes minutes and is not measured.
func BenchmarkStoredHistory(b *testing.B) {
	messages := tenth(100_000)
	b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
		w := newWorld(b, worldOptions{Brain: echoOrSummary})
		p := plan{System: "parley", Turns: turnsOnce, Dir: b.TempDir(), Window: 32_000}
		turn := 0
		next := func() *question {
			turn++
			return w.say(1, fmt.Sprintf("hello for the time %d", turn))
		}
		fill := func(p plan, until int) {
			c := launch(b, w, p)
			for turn < until {
				if _, err := next().wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			c.stop()
		}
		quick := p // a small window makes short requests
		quick.Window = 12_000
		fill(quick, messages/2-2000)
		fill(p, messages/2)
		var ready, reply []time.Duration
		atMost(b, 5, func() {
			q := next()
			q.asked = time.Now()
			c := launch(b, w, p)
			d, err := q.wait(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			ready, reply = append(ready, c.ready), append(reply, d)
			c.stop()
		})
		b.ReportMetric(milliseconds(median(ready)), "ready-ms")
		b.ReportMetric(milliseconds(median(reply)), "first-reply-ms")
	})
}

// echoOrSummary is model.Echo that sums a conversation up in few words.
func echoOrSummary(ctx context.Context, p *model.Prompt) model.Answer {
	if text := p.LastText(); !strings.HasPrefix(text, "hello") {
		return model.Reply(model.Say("They said hello."))
	}
	return model.Echo(ctx, p)
}

// BenchmarkStoredActive is 100,000 conversations stored, each of one turn, of
// which 10,000 go on, 64 of them at a time: on SQLite in one process, and a
// fifth of both on Redis with two workers, where filling takes longer. The
// processes are started anew after filling, so that memory is of those that go
// on only.
func BenchmarkStoredActive(b *testing.B) {
	for _, c := range []struct {
		on     deployment
		stored int
	}{{embedded, tenth(100_000)}, {workers2, tenth(20_000)}} {
		b.Run(fmt.Sprintf("%s/sessions=%d/active=%d", c.on.name, c.stored, c.stored/10), func(b *testing.B) {
			w := newWorld(b, worldOptions{})
			f := c.on.open(b, w, func(p *plan) { p.Turns = turnsOnce })
			everybodyOnce(b, w, int64(c.stored))
			for i, p := range f.procs {
				p.stop()
				f.again(i)
			}
			atMost(b, 1, func() {
				before := f.usage()
				var mu sync.Mutex
				var all []time.Duration
				sayAll(b, manyChats, int64(c.stored)/10, func(n int64) error {
					d, err := w.say(10*n, fmt.Sprintf("hello again from %d", 10*n)).wait(b.Context())
					mu.Lock()
					defer mu.Unlock()
					all = append(all, d)
					return err
				})
				if b.Failed() {
					b.FailNow()
				}
				report(b, f, before, all, 0)
				now, _, _ := f.memory()
				b.ReportMetric(megabytes(now), "after-MB")
				if f.redis != nil {
					held, _, _ := memory(b, f.redis.PID())
					b.ReportMetric(megabytes(held), "redis-MB")
				}
			})
		})
	}
}

// fill lets every person say one thing, and waits for all answers.
func fill(b *testing.B, w *world, dir string, people int64) {
	b.Helper()
	c := startIn(b, w, "parley", turnsOnce, dir)
	everybodyOnce(b, w, people)
	c.stop()
}

// everybodyOnce lets every person say one thing, and waits for all answers.
func everybodyOnce(b *testing.B, w *world, people int64) {
	b.Helper()
	sayAll(b, 4*manyChats, people, func(person int64) error {
		_, err := w.say(person, fmt.Sprintf("hello from %d", person)).wait(b.Context())
		return err
	})
	if b.Failed() {
		b.FailNow()
	}
}

// sayAll calls say with 1 to n, so many at a time; each stops at an error.
func sayAll(b *testing.B, at int, n int64, say func(int64) error) {
	var next atomic.Int64
	var asking sync.WaitGroup
	for range at {
		asking.Go(func() {
			for i := next.Add(1); i <= n; i = next.Add(1) {
				if err := say(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	asking.Wait()
}
