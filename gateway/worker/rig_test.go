package worker_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/tools"
	"parley/transcript"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// rig is the real log and the real store, an intake before them, and a model
// that does what the message says: "wait x" waits until gate x is opened,
// "panic" panics, "tool x" calls a tool; the answer is "re: " and the message.
type rig struct {
	t       testing.TB
	log     *logger
	store   *sqlite.Store
	intake  *intake.Intake
	model   *llmtest.Script
	tools   *tools.Set
	changed chan struct{} // something was stored

	patience time.Duration

	mu      sync.Mutex
	events  int
	counts  map[string]int
	reached map[string]chan struct{} // closed when the model came to a gate
	gates   map[string]chan struct{}
	running int
	most    int
}

// logger is the log as a worker sees it.
type logger struct {
	*broker.Broker
	deaf bool // signals to control get lost

	mu   sync.Mutex
	gone map[uint64]bool // messages that are not there any more
}

func (l *logger) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	if l.deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.Broker.Signals(ctx, topic, h)
}

func (l *logger) NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error) {
	for {
		e, err := l.Broker.NextAtLeast(ctx, token, after, expect)
		l.mu.Lock()
		gone := err == nil && l.gone[e.Seq]
		l.mu.Unlock()
		switch {
		case !gone:
			return e, err
		case e.Seq >= expect:
			return broker.Envelope{}, broker.ErrNone
		}
		after = e.Seq
	}
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return openRig(t, t.TempDir())
}

func openRig(t testing.TB, dir string) *rig {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(t.Context(), broker.Options{Dir: filepath.Join(dir, "log"), MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close the log: %v", err)
		}
		if err := s.Check(context.Background()); err != nil {
			t.Errorf("check the store: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	r := &rig{
		t: t, patience: patience, store: s, log: &logger{Broker: b, gone: map[uint64]bool{}}, changed: make(chan struct{}, 1),
		counts: map[string]int{}, reached: map[string]chan struct{}{}, gates: map[string]chan struct{}{},
	}
	r.model = &llmtest.Script{Reply: r.reply}
	if r.tools, err = tools.NewSet(noted{r}); err != nil {
		t.Fatal(err)
	}
	r.intake = &intake.Intake{
		Sources: map[string]intake.Source{"tg": {Agent: "main", Access: intake.Access{Everyone: true}}},
		Log:     b, Book: s, Observer: r, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Desk: &commands.Desk{Store: s, Now: time.Now, Model: func(string) string { return "m" }},
	}
	return r
}

// noted is a tool that panics when told so.
type noted struct{ r *rig }

func (noted) Definition() llm.Definition {
	return llm.Definition{Name: "noted", Description: "a tool", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
}
func (noted) Category(tools.Call) tools.Category { return tools.Read }
func (n noted) Run(context.Context, tools.Call) (tools.Result, error) {
	n.r.count("tool")
	panic("the tool is broken")
}

func (r *rig) gate(name string) (reached, open chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gates[name] == nil {
		r.reached[name], r.gates[name] = make(chan struct{}), make(chan struct{})
	}
	return r.reached[name], r.gates[name]
}

func (r *rig) open(name string) {
	_, g := r.gate(name)
	close(g)
}

// atGate waits until the model has come to the gate.
func (r *rig) atGate(name string) {
	r.t.Helper()
	reached, _ := r.gate(name)
	select {
	case <-reached:
	case <-time.After(patience):
		r.t.Fatalf("the model did not come to %q", name)
	}
}

func (r *rig) reply(_ int, q llm.Request) llmtest.Turn {
	text, toolsDone := "", false
	for _, m := range q.Messages {
		switch m.Role {
		case transcript.User:
			text, toolsDone = m.Words(), false
		case transcript.Tool:
			toolsDone = true
		}
	}
	answer := llmtest.Text("re: " + text)
	verb, arg, _ := strings.Cut(text, " ")
	switch {
	case verb == "panic":
		r.count("panic")
		panic("this message is poison")
	case verb == "tool" && !toolsDone:
		return llmtest.Turn{llmtest.Call{ID: "c1", Name: "noted", Input: `{"text":"` + arg + `"}`}}
	case verb == "wait":
		reached, open := r.gate(arg)
		r.mu.Lock()
		select {
		case <-reached:
		default:
			close(reached)
		}
		r.mu.Unlock()
		return llmtest.Turn{llmtest.Wait(open), answer}
	}
	return llmtest.Turn{answer}
}

func (r *rig) count(words ...string) {
	r.mu.Lock()
	r.counts[strings.Join(words, " ")]++
	r.mu.Unlock()
	r.poke()
}

func (r *rig) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func (r *rig) poke() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *rig) Received(string, bool)               { r.count("received") }
func (r *rig) Ignored(_, why string)               { r.count("ignored", why) }
func (r *rig) Deduplicated(_, _ string)            { r.count("deduplicated") }
func (r *rig) DeadLettered(_, reason string)       { r.count("dead", reason) }
func (r *rig) Lost(int)                            { r.count("lost") }
func (r *rig) TurnStarted(string, time.Duration)   { r.count("started") }
func (r *rig) ModelCalled(agent.CallReport)        { r.count("called") }
func (r *rig) ModelRetried(costs.Labels, llm.Kind) {}
func (r *rig) TurnEnded(t worker.TurnReport) {
	r.count("ended", string(t.Outcome))
	if t.TimedOut {
		r.count("timed out")
	}
}

func (r *rig) ToolCalled(tool string, _ costs.Purpose, status string, _ time.Duration) {
	r.count("tool", tool, status)
}

func (r *rig) TurnRunning(_ string, delta int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running += delta
	r.most = max(r.most, r.running)
	r.poke()
}

// await waits until done; it is asked after everything that is stored.
func (r *rig) await(what string, done func() bool) {
	r.t.Helper()
	limit := time.NewTimer(r.patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-r.changed:
		case <-limit.C:
			r.t.Fatalf("waited in vain for %s; counted %v", what, r.counts)
		}
	}
}

func address(person int) sessionkeys.Address {
	return sessionkeys.Address{Channel: sessionkeys.Telegram, Account: "42", Kind: sessionkeys.DM, Peer: strconv.Itoa(person)}
}

func key(t testing.TB, person int) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", address(person))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (r *rig) message(person int, text string) channels.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	return channels.Message{
		Event: fmt.Sprintf("e%d", r.events), Kind: channels.Said, Channel: "tg", MessageID: fmt.Sprintf("m%d", r.events),
		Text: text, Mentioned: true, Address: address(person), Sender: channels.Sender{ID: strconv.Itoa(person)}, ReceivedAt: time.Now(),
	}
}

// say brings a message in as an adapter does.
func (r *rig) say(person int, text string) {
	r.t.Helper()
	if err := r.intake.Accept(context.Background(), r.message(person, text)); err != nil {
		r.t.Fatalf("accept %q: %v", text, err)
	}
}

// publish puts body into person's mailbox behind intake's back.
func (r *rig) publish(person int, body string) uint64 {
	r.t.Helper()
	k := key(r.t, person)
	seq, err := r.log.Publish(context.Background(), broker.Envelope{ID: rand.Text(), Token: k.Token(), Key: k.String(), Body: json.RawMessage(body)})
	if err != nil {
		r.t.Fatal(err)
	}
	return seq
}

// answers is what waits to be sent to person, in order.
func (r *rig) answers(person int) (texts []string) {
	r.t.Helper()
	ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, d := range ds {
		if d.To == address(person) {
			texts = append(texts, d.Text)
		}
	}
	return texts
}

// wantAnswers waits for exactly these.
func (r *rig) wantAnswers(person int, want ...string) {
	r.t.Helper()
	r.await(fmt.Sprintf("%d answers to %d", len(want), person), func() bool { return len(r.answers(person)) >= len(want) })
	if got := r.answers(person); !slices.Equal(got, want) {
		r.t.Errorf("%d was told %q, want %q", person, got, want)
	}
}

// idle waits until nothing is owed to anybody.
func (r *rig) idle() {
	r.t.Helper()
	r.await("all mailboxes to be done", func() bool {
		done := true
		err := r.store.Mailboxes(context.Background(), func(m sessions.Mailbox) bool {
			done = !m.Owed() && m.Owner == sessions.Worker{}
			return done
		})
		return err == nil && done
	})
}

func (r *rig) mailbox(person int) sessions.Mailbox {
	r.t.Helper()
	m, err := r.store.Mailbox(context.Background(), key(r.t, person).Token())
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// process is a worker that runs.
type process struct {
	*worker.Worker
	store *faults
	stop  context.CancelFunc
	ended chan error
}

func (r *rig) start(name string, change ...func(*worker.Options)) *process {
	r.t.Helper()
	p := &process{store: &faults{Store: r.store, told: r.poke}, ended: make(chan error, 1)}
	o := worker.Options{
		Config: worker.Config{Turns: 8, Lease: 2 * time.Second, Grace: 10 * time.Second},
		Me:     sessions.Worker{Name: name, Nonce: rand.Text()}, Generation: "g", Log: r.log, Store: p.store,
		Agents:    map[string]worker.Agent{"main": {Model: r.model, Tools: r.tools, Prompt: func(sessionkeys.Key, time.Time) []llm.SystemBlock { return nil }}},
		Busy:      &agent.Service{},
		Workspace: func(sessionkeys.SessionID) (string, error) { return r.t.TempDir(), nil },
		Observer:  r, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	for _, c := range change {
		c(&o)
	}
	w, err := worker.New(o)
	if err != nil {
		r.t.Fatal(err)
	}
	p.Worker = w
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.ended <- w.Run(ctx) }()
	r.t.Cleanup(func() { p.end(r.t) })
	return p
}

// end ends the worker in order.
func (p *process) end(t testing.TB) {
	t.Helper()
	p.stop()
	if err, ok := <-p.ended; ok {
		if err != nil {
			t.Errorf("the worker ended with: %v", err)
		}
		close(p.ended)
	}
}

// die is the end of the process as others see it: nothing of it reaches the
// store any more, and it never says goodbye.
func (p *process) die() {
	p.store.set(func(f *faults) { f.dead = true })
	p.stop()
	if _, ok := <-p.ended; ok {
		close(p.ended)
	}
}

func turns(n int) func(*worker.Options) { return func(o *worker.Options) { o.Config.Turns = n } }

func grace(d time.Duration) func(*worker.Options) {
	return func(o *worker.Options) { o.Config.Grace = d }
}
