package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/runtest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// world is everything around a system under test.
type world struct {
	b        *testing.B
	telegram *telegram.Server // nil: people write on another network
	other    network
	model    *model.Server
	modelURL string // where systems find it

	mu    sync.Mutex
	open  map[int64]*question // by chat
	wrong []string
	audit *audit // guards itself; nil: what a chat shows is judged at once
}

// question is a message that waits for its answer.
type question struct {
	text     string
	asked    time.Time
	answered chan time.Time

	// When something was visible first: that the bot is at work, and a text. They
	// are read after answered.
	sign, first time.Time
}

// worldOptions are what differs between benchmarks.
type worldOptions struct {
	Latency time.Duration // how long the model thinks
	Record  bool          // keep the last request to the model
	Brain   model.Brain   // nil: model.Echo
	// Audit judges what the chats show at the end, from the platform's books:
	// several questions of one chat may be open then, and an answer that may have
	// arrived before may be there again with a mark.
	Audit bool
	// Network on which people write; empty: Telegram.
	Network string
}

// newWorld opens the platform and the model. They end with the benchmark.
func newWorld(b *testing.B, o worldOptions) *world {
	b.Helper()
	keep := -1
	if o.Audit {
		keep = 1 << 20
	}
	var tg *telegram.Server
	var people runtest.Server
	other, err := otherNetwork(o.Network)
	if people = other; other == nil && err == nil {
		tg, err = telegram.New(telegram.Options{
			Bots: []telegram.Bot{{Token: token, Username: "bench_bot", Name: "bench"}}, Keep: keep, History: 64, Pace: 10_000,
		})
		people = tg
	}
	if err != nil {
		b.Fatal(err)
	}
	record := -1
	if o.Record {
		record = 1
	}
	brain := o.Brain
	if brain == nil {
		brain = model.Echo
	}
	m := model.New(model.Options{
		MaxRequests: record, MaxBill: 1,
		Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
			a := brain(ctx, p)
			a.Latency = o.Latency
			return a
		},
	})
	w := &world{b: b, telegram: tg, other: other, model: m, open: map[int64]*question{}}
	if o.Audit {
		w.audit = &audit{open: map[string]*question{}}
	}
	b.Cleanup(w.check)
	runtest.Serve(b, people, m)
	w.modelURL = m.URL()
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(w.watch(ctx))
	b.Cleanup(func() {
		stop()
		watching.Wait()
	})
	return w
}

// watch begins to watch what people see, and gives what goes on with that until
// ctx ends.
func (w *world) watch(ctx context.Context) func() {
	if w.other != nil {
		return w.other.watch(ctx, w.see)
	}
	shown := w.telegram.Watch(ctx)
	return func() {
		for h := range shown {
			switch {
			case h.Kind == "action":
				w.see(sight{chat: h.ChatID, sign: true, at: h.At})
			case h.Kind != "sent" && h.Kind != "edited":
			case w.audit != nil:
				w.audit.see(h)
			default:
				w.see(sight{chat: h.ChatID, text: h.Text, at: h.At})
			}
		}
	}
}

// sight is what people see in a chat.
type sight struct {
	chat int64 // the person's number
	sign bool  // that the bot is at work; else a text
	text string
	at   time.Time
}

// see compares what a chat shows with what it should.
func (w *world) see(s sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.open[s.chat]
	switch {
	case s.sign:
		if q != nil && q.sign.IsZero() {
			q.sign = s.at
		}
		return
	case q == nil:
		w.note("chat %d shows %q, which nobody asked for", s.chat, s.text)
		return
	case q.first.IsZero():
		q.first = s.at
	}
	switch {
	case q.text == s.text:
		delete(w.open, s.chat)
		q.answered <- s.at
	case !strings.HasPrefix(q.text, s.text): // else a preview
		w.note("chat %d shows %q instead of %q", s.chat, s.text, q.text)
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
	if w.audit != nil {
		w.audit.check(w.b, w.telegram.Books())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.wrong {
		w.b.Error(s)
	}
	for id, q := range w.open {
		w.b.Errorf("chat %d got no answer to %q", id, q.text)
	}
	if n := w.missed(); n > 0 {
		w.b.Errorf("the benchmark was too slow to see %d messages", n)
	}
}

// missed is how much the benchmark did not see.
func (w *world) missed() int {
	if w.other != nil {
		return w.other.missed()
	}
	return w.telegram.Totals().Missed
}

// say lets a person write to the bot. The answer must be the text itself.
func (w *world) say(person int64, text string) *question {
	w.b.Helper()
	return w.bring(person, text, nil)
}

// bring is say with a file.
func (w *world) bring(person int64, text string, file []byte) *question {
	w.b.Helper()
	q := w.expect(person, text)
	if err := w.write(person, text, file); err != nil {
		w.b.Errorf("say: %v", err)
	}
	return q
}

// expect returns the question that a person asks now, whose answer is text.
func (w *world) expect(person int64, text string) *question {
	q := &question{text: text, answered: make(chan time.Time, 1)}
	if w.audit != nil {
		w.audit.ask(person, q)
	} else {
		w.mu.Lock()
		w.open[person] = q
		w.mu.Unlock()
	}
	q.asked = time.Now()
	return q
}

// write brings a message, with a file if there is one, to the network.
func (w *world) write(person int64, text string, file []byte) error {
	if w.other != nil {
		return w.other.say(person, text, file)
	}
	p, o := telegram.Person{ID: person, FirstName: "P"}, telegram.SayOptions{}
	if file != nil {
		o.Media, o.File, o.FileName = "document", file, fileName
	}
	_, err := w.telegram.Say(telegram.PrivateChat(p), p, text, o)
	return err
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
	more  string // said after it
	file  []byte // comes with it
}

func (l *lane) ask(ctx context.Context) (time.Duration, error) { return l.say().wait(ctx) }

func (l *lane) say() *question {
	person := 1 + l.no*1_000_000 + l.n/turnsPerChat
	l.n++
	return l.w.bring(person, fmt.Sprintf("hello for the time %d%s", l.n, l.more), l.file)
}
