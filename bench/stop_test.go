package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/simulators/model"
)

// BenchmarkStop is one person who says /stop while the model thinks: until the model's call is
// cut off, until the chat says that it stopped, and what the next answer takes after that.
func BenchmarkStop(b *testing.B) {
	const long = "a long question"
	called, cut := make(chan struct{}), make(chan time.Time)
	w := newWorld(b, worldOptions{Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		lines := strings.Split(p.LastText(), "\n") // what was stopped stands before what is asked next
		text := lines[len(lines)-1]
		if text == long {
			called <- struct{}{}
			<-ctx.Done()
			cut <- time.Now()
		}
		return model.Reply(model.Say(text))
	}})
	start(b, w, "parley", turnsOnce)
	l := &lane{w: w}
	next := func() time.Duration {
		d, err := l.ask(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	for range warmTurns {
		next()
	}
	var cuts, told, usable []time.Duration
	for b.Loop() {
		person := 1 + l.n/turnsPerChat // whom the lane asks next, too
		if err := w.write(person, long, nil); err != nil {
			b.Fatal(err)
		}
		<-called
		q := w.expect(person, "Stopped.")
		if err := w.write(person, "/stop", nil); err != nil {
			b.Fatal(err)
		}
		cuts = append(cuts, (<-cut).Sub(q.asked))
		d, err := q.wait(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		told, usable = append(told, d), append(usable, next())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(median(cuts)), "call-cut-p50-ms")
	b.ReportMetric(milliseconds(median(told)), "told-p50-ms")
	b.ReportMetric(milliseconds(median(usable)), "next-answer-p50-ms")
}
