package worker_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/agent/prompt"
	"parley/broker"
	"parley/channels"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/gateway/policy"
	"parley/gateway/preferences"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/sessions/sqlite/sqlitetest"
	"parley/tools"
	"parley/transcript"
)

// patience is how long a test waits for what must come, in fake time.
const patience = time.Hour

// fixture is a log and a store, an intake before them, and a model that does what
// the message says: "wait x" waits until gate x is opened, "panic" panics,
// "tool x" calls a tool; the answer is "re: " and the message. It lives in fake
// time: no test depends on how fast the machine is.
type fixture struct {
	t      testing.TB
	log    *logger
	store  sessions.Store
	space  string
	intake *intake.Intake
	model  *llmtest.Script
	tools  *tools.Set

	*counter
	*gates

	speech

	living sync.Mutex // guards what follows
	alive  map[sessions.Worker]bool
}

// speech is what people say. Its methods may be called concurrently.
type speech struct {
	speaking sync.Mutex // guards events
	events   int
}

// messageLog is what workers, the intake and tests ask of a log.
type messageLog interface {
	worker.Log
	intake.Log
	DeadLetters(ctx context.Context, after uint64, limit int) ([]broker.DeadLetter, error)
}

// logger is the log as a worker sees it.
type logger struct {
	messageLog
	deaf   bool   // signals get lost
	looked func() // the log is read

	mu   sync.Mutex
	gone map[uint64]bool   // messages that are not there any more
	last map[string]uint64 // by mailbox, what was published last
}

func (l *logger) Publish(ctx context.Context, e broker.Envelope) (uint64, error) {
	seq, err := l.messageLog.Publish(ctx, e)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.last[e.Token] = max(l.last[e.Token], seq)
	}
	return seq, err
}

func (l *logger) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	if l.deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.messageLog.Signals(ctx, topic, h)
}

func (l *logger) NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error) {
	l.looked()
	for {
		e, err := l.messageLog.NextAtLeast(ctx, token, after, expect)
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

// inFakeTime runs a test over a rig in a bubble of its own.
func inFakeTime(t *testing.T, test func(t *testing.T, r *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRig(t)) })
}

// newRig is a rig over the store in memory and a log in memory.
func newRig(t testing.TB) *fixture {
	t.Helper()
	return rigOn(t, newMemoryLog(), memtest.New(memtest.Every))
}

// realStore is a rig over a real store.
func realStore(t testing.TB) *fixture {
	t.Helper()
	return rigOn(t, newMemoryLog(), sqlitetest.Open(t, t.TempDir()))
}

// realRig is a rig over the real log and the real store.
func realRig(t testing.TB, dir string) *fixture {
	t.Helper()
	s := sqlitetest.Open(t, dir)
	b, err := broker.Open(t.Context(), broker.Options{Dir: filepath.Join(dir, "log"), MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close the log: %v", err)
		}
	})
	return rigOn(t, b, s)
}

func rigOn(t testing.TB, log messageLog, s sessions.Store) *fixture {
	t.Helper()
	r := &fixture{
		t: t, store: s, space: t.TempDir(), log: &logger{messageLog: log, gone: map[uint64]bool{}, last: map[string]uint64{}},
		counter: newCounter(), gates: newGates(t), alive: map[sessions.Worker]bool{},
	}
	r.log.looked = func() { r.count("read of the log") }
	r.model = &llmtest.Script{Reply: r.reply}
	var err error
	if r.tools, err = tools.NewSet(noted{r}); err != nil {
		t.Fatal(err)
	}
	r.intake = &intake.Intake{
		Settings: intake.Settings{Sources: map[string]intake.Source{"tg": {Bound: policy.Bound{Agent: "main"}, Network: "telegram", Access: policy.Access{Everyone: true}}}},
		Log:      r.log, Store: s, Observer: r.counter, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Commands: &commands.Handler{Store: s, Now: time.Now, Menu: func(string) preferences.Menu { return preferences.Menu{Own: "m"} }},
	}
	return r
}

// noted is a tool that panics when told so.
type noted struct{ r *fixture }

func (noted) Definition() llm.Definition {
	return llm.Definition{Name: "noted", Description: "a tool", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
}
func (noted) Category(tools.Call) tools.Category { return tools.Read }
func (n noted) Run(context.Context, tools.Call) (tools.Result, error) {
	n.r.count("tool")
	panic("the tool is broken")
}

func (r *fixture) reply(_ int, q llm.Request) llmtest.Turn {
	text, toolsDone, steps := "", false, 0
	for _, m := range q.Messages {
		switch m.Role {
		case transcript.User:
			text, toolsDone, steps = m.Text(), false, 0
		case transcript.Tool:
			toolsDone = true
			steps++
		}
	}
	if strings.HasPrefix(text, "[scheduled job ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	answer := llmtest.Text("re: " + text)
	verb, arg, _ := strings.Cut(text, " ")
	switch {
	case verb == "panic":
		r.count("panic")
		panic("this message is poison")
	case verb == "tool" && !toolsDone:
		return llmtest.Turn{llmtest.Call{ID: "c1", Name: "noted", Input: `{"text":"` + arg + `"}`}}
	case verb == "twice" && steps < 2:
		return llmtest.Turn{llmtest.Call{ID: fmt.Sprint("c", steps), Name: "noted", Input: `{"text":"` + arg + `"}`}}
	case verb == "read" && steps == 0:
		return llmtest.Turn{llmtest.Call{ID: "r1", Name: "reader", Input: `{"url":"https://page.example/x"}`}}
	case verb == "read" && steps == 1:
		return llmtest.Turn{llmtest.Call{ID: "c1", Name: "noted", Input: `{"text":"` + arg + `"}`}}
	case verb == "wait":
		reached, open := r.gate(arg)
		r.reach(reached)
		return llmtest.Turn{llmtest.Wait(open), answer}
	}
	return llmtest.Turn{answer}
}

// await waits until done, which is asked after everything that is stored, and
// until everybody has come to rest: what was counted for it is counted then.
func (r *fixture) await(what string, done func() bool) {
	r.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-r.changed:
		case <-limit.C:
			r.t.Fatalf("waited in vain for %s; counted %v\n%s", what, r.counts, r.boxes())
		}
	}
	synctest.Wait()
}

// boxes shows all mailboxes, and what was published into them last.
func (r *fixture) boxes() string {
	var b strings.Builder
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	err := r.store.Mailboxes(context.Background(), func(m sessions.Mailbox) bool {
		fmt.Fprintf(&b, "%s: published %d, %+v\n", m.Key, r.log.last[m.Token], m)
		return true
	})
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

func address(person int) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: strconv.Itoa(person)}
}

func key(t testing.TB, person int) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", address(person))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *speech) message(person int, text string) channels.Message {
	s.speaking.Lock()
	defer s.speaking.Unlock()
	s.events++
	return channels.Message{
		Event: fmt.Sprintf("e%d", s.events), Kind: channels.Said, Channel: "tg", MessageID: fmt.Sprintf("m%d", s.events),
		Text: text, Mentioned: true, Address: address(person), Sender: channels.Sender{ID: strconv.Itoa(person)}, ReceivedAt: time.Now(),
	}
}

// say brings a message in as an adapter does.
func (r *fixture) say(person int, text string) {
	r.t.Helper()
	if err := r.intake.Accept(context.Background(), r.message(person, text)); err != nil {
		r.t.Fatalf("accept %q: %v", text, err)
	}
}

// publish puts body into the first person's mailbox behind intake's back.
func (r *fixture) publish(body string) uint64 {
	r.t.Helper()
	k := key(r.t, 1)
	seq, err := r.log.Publish(context.Background(), broker.Envelope{ID: rand.Text(), Token: k.Token(), Key: k.String(), Body: json.RawMessage(body)})
	if err != nil {
		r.t.Fatal(err)
	}
	return seq
}

// answers is what waits to be sent to person, in order.
func (r *fixture) answers(person int) (texts []string) {
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
func (r *fixture) wantAnswers(person int, want ...string) {
	r.t.Helper()
	r.await(fmt.Sprintf("%d answers to %d", len(want), person), func() bool { return len(r.answers(person)) >= len(want) })
	if got := r.answers(person); !slices.Equal(got, want) {
		r.t.Errorf("%d was told %q, want %q", person, got, want)
	}
}

// idle waits until all that was published is read and nothing is owed to anybody.
func (r *fixture) idle() {
	r.t.Helper()
	r.await("all mailboxes to be done", func() bool {
		r.log.mu.Lock()
		unread := maps.Clone(r.log.last)
		r.log.mu.Unlock()
		done := true
		err := r.store.Mailboxes(context.Background(), func(m sessions.Mailbox) bool {
			if m.LastRead >= unread[m.Token] {
				delete(unread, m.Token)
			}
			done = !m.HasWork() && !r.lives(m.Owner) // one that is owed nothing may lie with the dead
			return done
		})
		return err == nil && done && len(unread) == 0
	})
}

func (r *fixture) lives(w sessions.Worker) bool {
	r.living.Lock()
	defer r.living.Unlock()
	return r.alive[w]
}

func (r *fixture) mailbox(person int) sessions.Mailbox {
	r.t.Helper()
	m, err := r.store.Mailbox(context.Background(), key(r.t, person).Token())
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// takes returns how often a person's mailbox was taken.
func (r *fixture) takes(person int) int64 {
	m, _ := r.store.Mailbox(context.Background(), key(r.t, person).Token()) // there may be none yet
	return m.Epoch
}

// process is a worker that runs.
type process struct {
	*worker.Worker
	store *faults
	stop  context.CancelFunc
	ended chan error
}

func (r *fixture) start(name string, change ...func(*worker.Options)) *process {
	r.t.Helper()
	p := &process{store: (&faults{told: r.poke}).over(r.store), ended: make(chan error, 1)}
	o := worker.Options{
		Config:   policy.Turns{Turns: 8, Lease: 2 * time.Second, Grace: 10 * time.Second},
		Identity: sessions.Worker{Name: name, Nonce: rand.Text()}, Generation: "g", Log: r.log, Store: p.store,
		Settings:  worker.Settings{Agents: map[string]worker.Agent{"main": {Model: r.model, Tools: r.tools, Prompt: &prompt.Agent{}}}},
		Busy:      &agent.Registry{},
		Workspace: func(sessionkeys.SessionID) (string, error) { return r.space, nil },
		Observer:  r.counter, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
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
	r.living.Lock()
	r.alive[o.Identity] = true
	r.living.Unlock()
	go func() {
		err := w.Run(ctx)
		r.living.Lock()
		delete(r.alive, o.Identity)
		r.living.Unlock()
		p.ended <- err
		r.poke()
	}()
	r.t.Cleanup(func() {
		p.end(r.t)
		p.store.late.Wait()
	})
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

func waits(c policy.Waiting) func(*worker.Options) {
	return func(o *worker.Options) { o.Settings.Waiting = map[string]policy.Waiting{"tg": c} }
}

func turns(n int) func(*worker.Options) { return func(o *worker.Options) { o.Config.Turns = n } }

func grace(d time.Duration) func(*worker.Options) {
	return func(o *worker.Options) { o.Config.Grace = d }
}

// publishMessage puts messages into person's mailbox behind intake's back.
func (r *fixture) publishMessage(person int, ms ...channels.Message) {
	r.t.Helper()
	for _, m := range ms {
		m.Address = address(person)
		r.publishIn(m)
	}
}

// keyOf is the conversation of m.
func (r *fixture) keyOf(m channels.Message) sessionkeys.Key {
	r.t.Helper()
	k, err := sessionkeys.For("main", m.Address)
	if err != nil {
		r.t.Fatal(err)
	}
	return k
}

// publishIn puts m into its mailbox behind intake's back.
func (r *fixture) publishIn(m channels.Message) {
	r.t.Helper()
	k := r.keyOf(m)
	body, err := json.Marshal(m)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.log.Publish(context.Background(), broker.Envelope{ID: rand.Text(), Token: k.Token(), Key: k.String(), Body: body}); err != nil {
		r.t.Fatal(err)
	}
}

// shortIDs gives the people of a test their ids back.
var shortIDs = func() *strings.Replacer {
	var pairs []string
	for person := range 10 {
		m := channels.Message{Sender: channels.Sender{ID: strconv.Itoa(person)}}
		pairs = append(pairs, worker.MessageText(m, nil), "["+m.Sender.ID+"]")
	}
	return strings.NewReplacer(pairs...)
}()
