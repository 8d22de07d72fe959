package delivery_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/sessions/sqlite/sqlitetest"
	"parley/transcript"
)

const patience = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is one call that the network got.
type call struct {
	op, chat, text, id, replyTo string
	repeat                      bool
}

func (c call) String() string {
	s := c.op + " " + c.chat + " " + c.text
	if c.id != "" {
		s += " in " + c.id
	}
	if c.repeat {
		s += " again"
	}
	return s
}

// net is a network: it answers as script says, and keeps what arrived.
type net struct {
	told   func()
	script func(n int, c call) error // n counts the calls for the chat and op; nil: all is well
	slow   time.Duration             // how long a message takes to be sent

	mu      sync.Mutex
	calls   []call
	shown   map[string]string // by message id, what stands in the chats
	order   []string          // message ids
	perChat map[string]int
	busy    map[string]bool
	overlap bool
}

func newNet() *net {
	return &net{shown: map[string]string{}, perChat: map[string]int{}, busy: map[string]bool{}, told: func() {}}
}

// arrives marks an error after which the message stands in the chat.
type arrives struct{ error }

func (n *net) Name() string                                         { return "tg" }
func (n *net) Receive(ctx context.Context, _ channels.Accept) error { <-ctx.Done(); return nil }
func (n *net) TypingDuration() time.Duration                        { return 5 * time.Second }
func (n *net) ShowTyping(_ context.Context, to sessionkeys.Address) error {
	_, err := n.take(call{op: "type", chat: to.Peer})
	return err
}

// Render gives a message for each line.
func (n *net) Render(text string) (bs []channels.Body) {
	for l := range strings.Lines(text) {
		bs = append(bs, channels.Body{Text: strings.TrimSpace(l)})
	}
	return bs
}

func (n *net) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	id, err := n.take(call{op: "send", chat: r.To.Peer, text: r.Body.Text, replyTo: r.ReplyTo, repeat: r.Repeat})
	if n.slow > 0 {
		select {
		case <-time.After(n.slow):
		case <-ctx.Done(): // it stands in the chat, and its sender does not know
			return channels.Receipt{}, &channels.Error{Kind: channels.Ambiguous, Err: ctx.Err()}
		}
	}
	return channels.Receipt{MessageID: id}, err
}

func (n *net) Edit(_ context.Context, to sessionkeys.Address, id string, b channels.Body) error {
	_, err := n.take(call{op: "edit", chat: to.Peer, text: b.Text, id: id})
	return err
}

func (n *net) take(c call) (id string, err error) {
	n.mu.Lock()
	n.overlap = n.overlap || n.busy[c.chat]
	n.busy[c.chat] = true
	n.perChat[c.op+c.chat]++
	nth := n.perChat[c.op+c.chat]
	n.calls = append(n.calls, c)
	n.mu.Unlock()
	if n.script != nil {
		err = n.script(nth, c)
	}
	n.mu.Lock()
	defer n.told()
	defer n.mu.Unlock()
	n.busy[c.chat] = false
	var there arrives
	if err == nil || errors.As(err, &there) {
		switch c.op {
		case "send", "file":
			id = fmt.Sprint("id", len(n.order)+1)
			n.order = append(n.order, id)
			n.shown[id] = c.text
		case "edit":
			n.shown[c.id] = c.text
		}
	}
	if errors.As(err, &there) {
		err = there.error
	}
	return id, err
}

// log is what happened, without typing.
func (n *net) log() (ss []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if c.op != "type" {
			ss = append(ss, c.String())
		}
	}
	return ss
}

func (n *net) chat() (ss []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range n.order {
		ss = append(ss, n.shown[id])
	}
	return ss
}

// plain is a network without edits and typing.
type plain struct{ n *net }

func (p plain) Name() string                                         { return p.n.Name() }
func (p plain) Receive(ctx context.Context, a channels.Accept) error { return p.n.Receive(ctx, a) }
func (p plain) Render(text string) []channels.Body                   { return p.n.Render(text) }
func (p plain) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	return p.n.Send(ctx, r)
}

// heard is the log as far as delivery hears it.
type heard struct {
	mu       sync.Mutex
	handlers map[string]func(broker.Signal)
	sent     []string
	told     func()
	ready    chan struct{} // one value for each topic that is heard
}

func (s *heard) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	s.mu.Lock()
	s.handlers[topic] = h
	s.mu.Unlock()
	s.ready <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// Signal is a hint to workers, of which there are none here.
func (s *heard) Signal(_ context.Context, x broker.Signal) error {
	defer s.told()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, x.Topic)
	return nil
}

func (s *heard) send(topic string, body any) {
	b, _ := json.Marshal(body)
	s.mu.Lock()
	h := s.handlers[topic]
	s.mu.Unlock()
	h(broker.Signal{Topic: topic, Body: b})
}

var errStore = errors.New("the store is away")

// faults is the store of one process, which may die or fail.
type faults struct {
	delivery.Store
	told func()

	mu   sync.Mutex
	n    int
	took int // of those, what was written: one that an older picture leads to is refused
	die  int // from this write on nothing is written
	lost bool
	fail int // this write fails
}

func (f *faults) write(perform func() error) error {
	defer f.told()
	f.mu.Lock()
	f.n++
	dead, last, lost, fail := f.die > 0 && f.n >= f.die, f.n == f.die, f.lost, f.n == f.fail
	f.mu.Unlock()
	if fail || dead && (!last || !lost) {
		return errStore
	}
	err := perform()
	if err == nil {
		f.mu.Lock()
		f.took++
		f.mu.Unlock()
	}
	if dead {
		return errStore
	}
	return err
}

func (f *faults) Advance(ctx context.Context, id string, p sessions.Progress) error {
	return f.write(func() error { return f.Store.Advance(ctx, id, p) })
}

func (f *faults) Preview(ctx context.Context, turn string, p sessions.Preview) error {
	return f.write(func() error { return f.Store.Preview(ctx, turn, p) })
}

type fixture struct {
	t       testing.TB
	store   sessions.Store
	net     *net
	files   *fileStore
	changed chan struct{}

	mu     sync.Mutex
	counts map[string]int
	waits  []time.Duration
	fence  map[string]sessions.Fence
	turns  map[string]string
	seq    uint64

	// How the store of the next process behaves; see faults.
	die, fail int
	lost      bool
}

// newRig is a rig over the store in memory.
func newRig(t testing.TB) *fixture {
	t.Helper()
	return rigOn(t, memtest.New(memtest.Every))
}

// realStore is a rig over a real store.
func realStore(t testing.TB) *fixture {
	t.Helper()
	return rigOn(t, sqlitetest.Open(t, t.TempDir()))
}

func rigOn(t testing.TB, s sessions.Store) *fixture {
	t.Helper()
	r := &fixture{t: t, store: s, net: newNet(), files: &fileStore{kept: map[string]string{}}, changed: make(chan struct{}, 1), counts: map[string]int{}, fence: map[string]sessions.Fence{}, turns: map[string]string{}}
	r.net.told = r.poke
	if err := s.Heartbeat(t.Context(), rigWorker, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return r
}

var rigWorker = sessions.Worker{Name: "w", Nonce: "n"}

func (r *fixture) poke() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *fixture) count(words ...string) {
	r.mu.Lock()
	r.counts[strings.Join(words, " ")]++
	r.mu.Unlock()
	r.poke()
}

func (r *fixture) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func (r *fixture) CountSent(_, outcome string, _ time.Duration) { r.count("sent", outcome) }
func (r *fixture) SendRetried(_, reason string)                 { r.count("retried", reason) }
func (r *fixture) FirstReply(_ string, _ bool, _ time.Duration) { r.count("first") }

func to(chat string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: chat}
}

// queue puts an answer into the outbox that no turn stands behind.
func (r *fixture) queue(chat, text string) string {
	r.t.Helper()
	id := rand.Text()
	_, err := r.store.Notice(r.t.Context(), sessions.InboxID{Channel: "telegram", Event: id}, []sessions.Outgoing{
		{ID: id, Channel: "tg", To: to(chat), ReplyTo: "q", Text: text, At: time.Now()},
	}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// begin opens a turn for the chat.
func (r *fixture) begin(chat, turn string) {
	r.t.Helper()
	k, err := sessionkeys.For("main", to(chat))
	if err != nil {
		r.t.Fatal(err)
	}
	r.seq++
	now := time.Now()
	m, got, err := r.store.Touch(r.t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: r.seq, By: rigWorker, Take: true, Now: now})
	if err != nil || !got {
		r.t.Fatal(got, err)
	}
	r.fence[turn] = m.Fence()
	_, _, err = r.store.Open(r.t.Context(), m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: turn, Seq: r.seq, Channel: "tg", From: to(chat), ReceivedAt: now, OpenedAt: now},
		Message: transcript.Message{ID: turn + "-user", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "q"}}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// finish ends the turn with an answer.
func (r *fixture) finish(chat, turn, text string) {
	r.t.Helper()
	if _, err := r.store.Finish(r.t.Context(), r.fence[turn], ending(chat, turn, text)); err != nil {
		r.t.Fatal(err)
	}
}

func ending(chat, turn, text string) sessions.FinishTurn {
	return sessions.FinishTurn{
		Turn: turn, Outcome: transcript.EndTurn, At: time.Now(),
		Replies: []sessions.Outgoing{{ID: turn, Channel: "tg", Turn: turn, To: to(chat), Text: text, At: time.Now()}},
	}
}

func (r *fixture) await(what string, done func() bool) {
	r.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-r.changed:
		case <-limit.C:
			r.t.Fatalf("waited in vain for %s; the network got %q; counted %v", what, r.net.log(), r.counts)
		}
	}
}

func (r *fixture) pending() []sessions.Delivery {
	r.t.Helper()
	ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	return ds
}

// answer ends the turn with an answer, and waits until p has brought it.
func (r *fixture) answer(p *process, chat, turn, text string) { //nolint:unparam // reads better
	r.t.Helper()
	r.finish(chat, turn, text)
	p.wake()
	r.delivered()
}

// delivered waits until the outbox is empty.
func (r *fixture) delivered() {
	r.t.Helper()
	r.await("the outbox to be empty", func() bool { return len(r.pending()) == 0 })
}

// runUntil runs a process that sends until the context ends, and hears on.
func (r *fixture) runUntil(sends context.Context, change ...func(*delivery.Options)) *process {
	r.t.Helper()
	return r.run(func(d *delivery.Delivery, ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { _ = d.Listen(ctx); return nil })
		g.Go(func() error { return d.Send(sends, "tg") })
		return g.Wait() // it is shown
	}, change...)
}

type process struct {
	r     *fixture
	heard *heard
	out   *delivery.Delivery
	store *faults
	stop  context.CancelFunc
	ended chan error
}

// start runs a process that hears and sends from its first moment.
func (r *fixture) start(change ...func(*delivery.Options)) *process {
	return r.run((*delivery.Delivery).Run, change...)
}

// run runs a process by run, which hears.
func (r *fixture) run(run func(*delivery.Delivery, context.Context) error, change ...func(*delivery.Options)) *process {
	r.t.Helper()
	p := &process{
		r: r, heard: &heard{handlers: map[string]func(broker.Signal){}, ready: make(chan struct{}, 3), told: r.poke},
		store: &faults{Store: r.store, told: r.poke, die: r.die, lost: r.lost, fail: r.fail}, ended: make(chan error, 1),
	}
	o := delivery.Options{
		Store: p.store, Log: p.heard, Channels: []channels.Channel{r.net}, Files: r.files, Observer: r,
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, Grace: patience,
		Wait: func(ctx context.Context, d time.Duration) error {
			r.mu.Lock()
			r.waits = append(r.waits, d)
			r.mu.Unlock()
			return ctx.Err()
		},
		Attempted: func(_ sessions.Delivery, began time.Time, how delivery.Outcome) {
			if began.IsZero() {
				r.t.Error("an attempt began at no time")
			}
			r.count("attempted", string(how))
		},
		Delivered: func(d sessions.Delivery) {
			if d.File != nil {
				r.count("delivered", d.File.Name)
				return
			}
			r.count("delivered", d.Text)
		},
	}
	for _, c := range change {
		c(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.out = delivery.New(o)
	go func() { p.ended <- run(p.out, ctx) }()
	for range cap(p.heard.ready) {
		<-p.heard.ready
	}
	r.t.Cleanup(p.end)
	return p
}

func (p *process) end() {
	p.stop()
	if err, ok := <-p.ended; ok {
		if err != nil {
			p.r.t.Errorf("delivery ended with: %v", err)
		}
		close(p.ended)
	}
}

func (p *process) wake() { p.heard.send(signals.OutboxTopic, signals.Outbox{Channel: "tg"}) }

// answerAfterHalf shows half of an answer in a chat, and has the whole delivered there.
func (p *process) answerAfterHalf() {
	p.r.t.Helper()
	p.r.begin("a", "t1")
	p.show("a", "t1", "half")
	p.r.await("a preview", func() bool { return p.r.counted("first") == 1 })
	p.r.finish("a", "t1", "whole")
	p.wake()
	p.r.delivered()
}

func (p *process) show(chat, turn, text string) {
	p.heard.send(signals.PreviewTopic, signals.Preview{Turn: turn, Channel: "tg", To: to(chat), Text: text})
}

// does says what the turn does, beside its words so far.
func (p *process) does(chat, turn, text, activity string) {
	p.heard.send(signals.PreviewTopic, signals.Preview{Turn: turn, Channel: "tg", To: to(chat), Text: text, Activity: activity, Status: activity})
}

// over says that the turn ended without an answer.
func (p *process) over(chat, turn string) {
	p.heard.send(signals.PreviewTopic, signals.Preview{Turn: turn, Channel: "tg", To: to(chat), Over: true})
}

func (r *fixture) wantCalls(want ...string) {
	r.t.Helper()
	if got := r.net.log(); !slices.Equal(got, want) {
		r.t.Errorf("the network got\n%q, want\n%q", got, want)
	}
}

// dead reports whether the process has died.
func (f *faults) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.die > 0 && f.n >= f.die
}
