package bench

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart is a process that starts with nothing stored while a message
// waits for it: medians of up to ten starts.
func BenchmarkStart(b *testing.B) {
	each(b, func(b *testing.B, system string) {
		var ready, reply []time.Duration
		atMost(b, 10, func() {
			w := newWorld(b, worldOptions{})
			q := w.say(1, "hello")
			q.asked = time.Now()
			c := start(b, w, system, turnsOnce)
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

func median[T cmp.Ordered](ds []T) T {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkIdle is a system that has answered once and then has nothing to do
// for five seconds.
func BenchmarkIdle(b *testing.B) {
	const quiet = 5 * time.Second
	each(b, func(b *testing.B, system string) {
		w := newWorld(b, worldOptions{})
		c := start(b, w, system, turnsOnce)
		if _, err := (&lane{w: w}).ask(b.Context()); err != nil {
			b.Fatal(err)
		}
		atMost(b, 1, func() {
			before := c.usage()
			select { // not for an event: this is the time that is measured
			case <-time.After(quiet):
			case <-b.Context().Done():
			}
			after := c.usage()
			if !after.ok {
				return
			}
			b.ReportMetric(milliseconds(after.cpu-before.cpu)/after.at.Sub(before.at).Seconds(), "idle-cpu-ms/s")
			now, _, _ := memory(b, c.cmd.Process.Pid)
			b.ReportMetric(megabytes(now), "idle-MB")
		})
	})
}

// BenchmarkPrompt is what the model gets to read before a person's first
// "hello": the system message and the tools.
func BenchmarkPrompt(b *testing.B) {
	w := newWorld(b, worldOptions{Record: true})
	start(b, w, "parley", turnsOnce)
	atMost(b, 1, func() {
		if _, err := w.say(1, "hello").wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
	rs := w.model.Requests()
	if len(rs) != 1 {
		b.Fatalf("%d requests were recorded", len(rs))
	}
	var r struct {
		System, Tools, Messages json.RawMessage
	}
	if err := json.Unmarshal(rs[0].Body, &r); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(r.System)+len(r.Tools)), "prompt-bytes")
	b.ReportMetric(float64(len(rs[0].Body)), "request-bytes")
}
