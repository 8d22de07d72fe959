package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// world is everything around a system under test.
type world struct {
	b        *testing.B
	telegram *telegram.Server
	model    *model.Server

	mu    sync.Mutex
	open  map[int64]*question // by chat
	wrong []string
}

// question is a message that waits for its answer.
type question struct {
	text     string
	asked    time.Time
	answered chan time.Time
}

// worldOptions are what differs between benchmarks.
type worldOptions struct {
	Latency time.Duration // how long the model thinks
	Record  bool          // keep the last request to the model
}

// newWorld opens the platform and the model. They end with the benchmark.
func newWorld(b *testing.B, o worldOptions) *world {
	b.Helper()
	tg, err := telegram.New(telegram.Options{
		Bots: []telegram.Bot{{Token: token, Username: "bench_bot", Name: "bench"}}, Keep: -1, History: 64,
	})
	if err != nil {
		b.Fatal(err)
	}
	record := -1
	if o.Record {
		record = 1
	}
	m := model.New(model.Options{
		MaxRequests: record, MaxBill: 1,
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			a := model.Echo(ctx, p)
			a.Latency = o.Latency
			return a
		},
	})
	for _, listen := range []func() error{tg.Listen, m.Listen} {
		if err := listen(); err != nil {
			b.Fatal(err)
		}
	}
	w := &world{b: b, telegram: tg, model: m, open: map[int64]*question{}}
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for _, run := range []func(context.Context) error{tg.Run, m.Run} {
		parts.Go(func() {
			if err := run(ctx); err != nil {
				b.Errorf("a simulator ended with: %v", err)
			}
		})
	}
	shown := tg.Watch(ctx)
	parts.Go(func() {
		for h := range shown {
			w.see(h)
		}
	})
	b.Cleanup(func() {
		stop()
		parts.Wait()
		w.check()
	})
	return w
}

// see compares what a chat shows with what it should.
func (w *world) see(h telegram.Happening) {
	if h.Kind != "sent" && h.Kind != "edited" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.open[h.ChatID]
	switch {
	case q == nil:
		w.note("chat %d shows %q, which nobody asked for", h.ChatID, h.Text)
	case q.text == h.Text:
		delete(w.open, h.ChatID)
		q.answered <- h.At
	case !strings.HasPrefix(q.text, h.Text): // else a preview
		w.note("chat %d shows %q instead of %q", h.ChatID, h.Text, q.text)
	}
}

// note keeps what was wrong; a few are enough. The caller holds mu.
func (w *world) note(format string, args ...any) {
	if len(w.wrong) < 10 {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
}

func (w *world) check() {
	w.b.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.wrong {
		w.b.Error(s)
	}
	for id, q := range w.open {
		w.b.Errorf("chat %d got no answer to %q", id, q.text)
	}
	if n := w.telegram.Totals().Missed; n > 0 {
		w.b.Errorf("the benchmark was too slow to see %d messages", n)
	}
}

// say lets a person write to the bot. The answer must be the text itself.
func (w *world) say(person int64, text string) *question {
	w.b.Helper()
	q := &question{text: text, answered: make(chan time.Time, 1)}
	w.mu.Lock()
	w.open[person] = q
	w.mu.Unlock()
	p := telegram.Person{ID: person, FirstName: "P"}
	q.asked = time.Now()
	if _, err := w.telegram.Say(telegram.PrivateChat(p), p, text, telegram.SayOptions{}); err != nil {
		w.b.Errorf("say: %v", err)
	}
	return q
}

// wait is how long the answer took, by the clock of the platform that took it.
func (q *question) wait(ctx context.Context) (time.Duration, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case at := <-q.answered:
		return at.Sub(q.asked), nil
	case <-limit.C:
		return 0, fmt.Errorf("no answer to %q", q.text)
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// turnsPerChat keeps conversations short, so that no figure depends on how long
// a benchmark runs: then somebody new writes.
const turnsPerChat = 32

// lane is one thing after another: ask, wait for the answer, ask again.
type lane struct {
	w     *world
	no, n int64
}

func (l *lane) ask(ctx context.Context) (time.Duration, error) {
	person := 1 + l.no*1_000_000 + l.n/turnsPerChat
	l.n++
	return l.w.say(person, fmt.Sprintf("hello for the time %d", l.n)).wait(ctx)
}
