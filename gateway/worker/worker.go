// Package worker takes a conversation's waiting messages through lease,
// command, turn and reply.
//
// A delivery from the log only touches the mailbox row. Whoever finds the
// mailbox free becomes its actor: it reads the messages in their order, from
// the last committed one, until none is owed, and then gives the mailbox up in
// one conditional write. Every write carries the actor's fence, so a worker
// that comes back from the dead can change nothing.
//
//	Deliveries ──► touch ──► actor ──► next message ──► command: one commit
//	                 ▲         ▲  │                └──► turn: open, loop, finish
//	Signals ─────────┘         │  └── release, or go on
//	Recover, every second ─────┘
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/agent"
	"parley/broker"
	"parley/costs"
	"parley/gateway/intake"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// Log is the part of the broker that a worker reads from.
type Log interface {
	Deliveries(ctx context.Context, h func(context.Context, broker.Delivery) error) error
	NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error)
	DeadLetter(ctx context.Context, d broker.DeadLetter) error
	Signal(ctx context.Context, s broker.Signal) error
	Signals(ctx context.Context, topic string, h func(broker.Signal)) error
}

// Store is the part of the store that a worker writes to.
type Store interface {
	sessions.Dispatch
	sessions.Turns
}

// Observer counts. Calls must not block.
type Observer interface {
	Deduplicated(channel, reason string)
	DeadLettered(channel, reason string)
	Lost(n int)
	TurnStarted(channel string, waited time.Duration)
	TurnRunning(channel string, delta int)
	TurnEnded(t TurnReport)
	ModelCalled(r agent.CallReport)
	ModelRetried(l costs.Labels, reason llm.Kind)
	ToolCalled(tool string, p costs.Purpose, status string, took time.Duration)
}

// TurnReport is a finished turn, for metrics.
type TurnReport struct {
	Channel string
	DM      bool
	Outcome transcript.FinishReason
	// TimedOut: the turn was ended because it took too long.
	TimedOut bool
	Took     time.Duration
	Cost     costs.Amount
}

// Agent is what answers under one agent name.
type Agent struct {
	Model     llm.Model
	Tools     *tools.Set
	Prompt    func(key sessionkeys.Key, now time.Time) []llm.SystemBlock
	MaxSteps  int
	MaxTokens int
}

// Config is the limits of one worker process.
type Config struct {
	// Turns is how many turns run at once; messages beyond wait in the log.
	// Default 32.
	Turns int `yaml:"turns"`
	// Lease is how long a worker that says nothing keeps its conversations.
	// Default 10s.
	Lease time.Duration `yaml:"lease"`
	// TurnTimeout ends a turn that takes longer, and tells the person. Default
	// 10m.
	TurnTimeout time.Duration `yaml:"turn_timeout"`
	// Grace is how long running turns may go on after the process was asked to
	// end; then they are handed over. Default 20s.
	Grace time.Duration `yaml:"grace"`
	// Attempts is how often the same message is taken up before it goes to the
	// dead letters. Default 3.
	Attempts int `yaml:"attempts"`
}

// Defaults fills in what is zero.
func (c Config) Defaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Turns == 0 {
		c.Turns = 32
	}
	if c.Attempts == 0 {
		c.Attempts = 3
	}
	set(&c.Lease, 10*time.Second)
	set(&c.TurnTimeout, 10*time.Minute)
	set(&c.Grace, 20*time.Second)
	return c
}

// Validate says what cannot work.
func (c Config) Validate() error {
	switch {
	case c.Turns < 1:
		return fmt.Errorf("turns: %d is not at least 1", c.Turns)
	case c.Attempts < 1:
		return fmt.Errorf("attempts: %d is not at least 1", c.Attempts)
	case c.Lease < time.Second:
		return fmt.Errorf("lease: %s is shorter than a second", c.Lease)
	case c.TurnTimeout < time.Second:
		return fmt.Errorf("turn_timeout: %s is shorter than a second", c.TurnTimeout)
	case c.Grace < 0:
		return fmt.Errorf("grace: %s is negative", c.Grace)
	}
	return nil
}

// Options is what a worker is made of.
type Options struct {
	Config     Config
	Me         sessions.Worker // a stable name, and a nonce new at every start
	Generation string          // of the log, so that turn ids are unique for ever
	Log        Log
	Store      Store
	Agents     map[string]Agent // by name
	Loop       agent.Loop       // without a Journal
	Busy       *agent.Service
	Workspace  func(sessionkeys.SessionID) (string, error)
	Observer   Observer
	Logger     *slog.Logger
	Now        func() time.Time
}

// Worker runs turns. Make one with New, run it once.
type Worker struct {
	Options
	actors    registry
	histories *histories
	slots     chan struct{}
	backlog   atomic.Bool   // mailboxes were touched that nobody took
	nudge     chan struct{} // look for work now
	closing   chan struct{} // closed when the process takes nothing new
}

// New checks and wires; it starts nothing.
func New(o Options) (*Worker, error) {
	o.Config = o.Config.Defaults()
	if err := o.Config.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	return &Worker{
		Options:   o,
		histories: newHistories(),
		actors:    registry{byToken: map[string]*entry{}, failed: map[string]int{}},
		slots:     make(chan struct{}, o.Config.Turns),
		nudge:     make(chan struct{}, 1),
		closing:   make(chan struct{}),
	}, nil
}

// Run works until ctx ends. Then it takes nothing new, lets running turns end
// within the grace period, hands over the rest, and returns nil. It returns an
// error when the log or the store cannot be used at all, or when another
// process of the same name has taken this one's place.
func (w *Worker) Run(ctx context.Context) error {
	beat := func(ctx context.Context) error {
		return w.Store.Heartbeat(ctx, w.Me, w.Now().Add(w.Config.Lease))
	}
	if err := beat(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("register the worker: %w", err)
	}
	life, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	work, stopWork := context.WithCancelCause(life)
	defer stopWork(nil)
	w.actors.base = work

	g, gctx := errgroup.WithContext(ctx)
	var pulse sync.WaitGroup
	dead := make(chan error, 1)
	pulse.Go(func() { dead <- w.keepLease(life, beat) })
	g.Go(func() error {
		select {
		case err := <-dead:
			return err
		case <-gctx.Done():
			return nil
		}
	})
	g.Go(func() error { return w.Log.Deliveries(gctx, w.deliver) })
	g.Go(func() error {
		return w.Log.Signals(gctx, intake.ControlTopic, func(s broker.Signal) { w.control(gctx, s) })
	})
	g.Go(func() error { w.lookForWork(gctx); return nil })
	err := g.Wait()

	close(w.closing)
	if !w.actors.idle(life, w.Config.Grace) {
		stopWork(agent.ErrHandover)
	}
	w.actors.wait()
	leave, cancel := context.WithTimeout(life, 5*time.Second)
	defer cancel()
	if lerr := w.Store.Leave(leave, w.Me); lerr != nil {
		w.Logger.Warn("leaving without saying so", "error", lerr)
	}
	die()
	pulse.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// keepLease says every fifth of the lease that this worker lives. A worker
// that could not say so for two thirds of it must assume that others take its
// mailboxes over, and stops its turns by itself. It returns an error when this
// worker is dead for ever.
func (w *Worker) keepLease(ctx context.Context, beat func(context.Context) error) error {
	tick := time.NewTicker(w.Config.Lease / 5)
	defer tick.Stop()
	last := w.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		bctx, cancel := context.WithTimeout(ctx, w.Config.Lease/2)
		err := beat(bctx)
		cancel()
		switch {
		case err == nil:
			last = w.Now()
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, sessions.ErrFenced):
			w.actors.cancelAll(agent.ErrHandover)
			return fmt.Errorf("keep the lease: another worker has the name %s: %w", w.Me.Name, err)
		default:
			w.Logger.Error("heartbeat", "error", err)
			if w.Now().Sub(last) > w.Config.Lease*2/3 {
				w.actors.cancelAll(agent.ErrHandover)
			}
		}
	}
}

// deliver notes that a mailbox has a message, and takes the mailbox when there
// is a free slot.
func (w *Worker) deliver(ctx context.Context, d broker.Delivery) error {
	key, err := sessionkeys.Parse(d.Key)
	if err == nil && key.Depth() == 0 && key.Token() != d.Token {
		err = errors.New("the key belongs to another mailbox")
	}
	if err != nil {
		return w.buryDelivery(ctx, d, err)
	}
	return w.touch(ctx, d.Token, key, d.Seq)
}

func (w *Worker) buryDelivery(ctx context.Context, d broker.Delivery, why error) error {
	e, err := w.Log.NextAtLeast(ctx, d.Token, d.Seq-1, d.Seq)
	if errors.Is(err, broker.ErrNone) || err == nil && e.Seq != d.Seq {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what cannot be delivered: %w", err)
	}
	if err := w.Log.DeadLetter(ctx, broker.DeadLetter{
		ID: e.ID, Reason: "key", Key: e.Key, Problem: why.Error(), Body: e.Body, At: w.Now(),
	}); err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	w.Observer.DeadLettered("", "key")
	return nil
}

func (w *Worker) touch(ctx context.Context, token string, key sessionkeys.Key, seq uint64) error {
	take := w.grabSlot()
	started, err := w.touchLocked(ctx, sessions.Touch{Token: token, Key: key, Seq: seq, By: w.Me, Take: take, Now: w.Now()})
	if take && !started {
		w.freeSlot()
	}
	return err
}

// touchLocked makes one touch of a mailbox at a time in this process, so that
// "the owner is me, but nobody here works on it" can only mean that an earlier
// answer was lost.
func (w *Worker) touchLocked(ctx context.Context, t sessions.Touch) (started bool, err error) {
	unlock := w.actors.lock(t.Token)
	defer unlock()
	m, got, err := w.Store.Touch(ctx, t)
	if err != nil {
		return false, fmt.Errorf("touch the mailbox: %w", err)
	}
	if !got && t.Take && m.Owner == w.Me && m.Owed() && !w.actors.has(t.Token) {
		if m, err = w.Store.Reacquire(ctx, m.Fence(), w.Now()); err != nil {
			return false, fmt.Errorf("reacquire the mailbox: %w", err)
		}
		got = true
	}
	if got {
		w.start(m)
		return true, nil
	}
	if !t.Take && m.Owed() && m.Owner == (sessions.Worker{}) {
		w.backlog.Store(true)
		w.lookNow()
	}
	return false, nil
}

// control reacts to the signal that a control request was stored: the actor
// here looks at once; a mailbox that nobody works on is taken.
func (w *Worker) control(ctx context.Context, s broker.Signal) {
	var c intake.ControlSignal
	if err := json.Unmarshal(s.Body, &c); err != nil {
		w.Logger.Warn("signal that cannot be read", "topic", s.Topic, "error", err)
		return
	}
	if w.actors.poke(c.Token) {
		return
	}
	m, err := w.Store.Mailbox(ctx, c.Token)
	if err == nil && m.Controls > 0 {
		err = w.touch(ctx, c.Token, m.Key, 0)
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Warn("control request waits for the next look", "error", err)
	}
}

// lookForWork takes what is owed and has no living owner: mailboxes that were
// touched when all slots were busy, those of dead workers, and those in this
// worker's own name that nobody here works on.
func (w *Worker) lookForWork(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	orphans := map[sessions.Fence]bool{}
	for {
		periodic := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			periodic = true
		case <-w.nudge:
		}
		err := w.takeOwed(ctx, periodic)
		if err == nil && periodic {
			orphans, err = w.adopt(ctx, orphans)
		}
		if err != nil && ctx.Err() == nil {
			w.Logger.Error("looking for work", "error", err)
		}
	}
}

func (w *Worker) takeOwed(ctx context.Context, always bool) error {
	if !w.backlog.Swap(false) && !always {
		return nil
	}
	n := 0
	for n < 64 && w.grabSlot() {
		n++
	}
	if n == 0 {
		w.backlog.Store(true) // looked at again when a slot is freed
		if len(w.slots) < cap(w.slots) {
			w.lookNow() // one was, just now
		}
		return nil
	}
	ms, err := w.Store.Recover(ctx, w.Me, w.Now(), n)
	for _, m := range ms {
		unlock := w.actors.lock(m.Token)
		w.start(m)
		unlock()
	}
	for range n - len(ms) {
		w.freeSlot()
	}
	if len(ms) == n {
		w.backlog.Store(true)
		w.lookNow()
	}
	if err != nil {
		w.backlog.Store(true)
		return fmt.Errorf("recover mailboxes: %w", err)
	}
	return nil
}

// adopt finds mailboxes in this worker's own name that have no actor, twice in
// a row under the same fence, and takes them up again.
func (w *Worker) adopt(ctx context.Context, seen map[sessions.Fence]bool) (map[sessions.Fence]bool, error) {
	held, err := w.Store.Held(ctx, w.Me)
	if err != nil {
		return seen, fmt.Errorf("list own mailboxes: %w", err)
	}
	now := map[sessions.Fence]bool{}
	for _, m := range held {
		f := m.Fence()
		switch {
		case w.actors.has(m.Token):
		case !seen[f]:
			now[f] = true
		case w.grabSlot():
			if err := w.readopt(ctx, f); err != nil {
				w.freeSlot()
				return now, err
			}
		default:
			now[f] = true
		}
	}
	return now, nil
}

func (w *Worker) readopt(ctx context.Context, f sessions.Fence) error {
	unlock := w.actors.lock(f.Token)
	defer unlock()
	if w.actors.has(f.Token) { // since it was looked at
		w.freeSlot()
		return nil
	}
	m, err := w.Store.Reacquire(ctx, f, w.Now())
	if errors.Is(err, sessions.ErrFenced) {
		w.freeSlot()
		return nil
	}
	if err != nil {
		return fmt.Errorf("take up an orphaned mailbox: %w", err)
	}
	w.Logger.Warn("an own mailbox had no actor and was taken up again", "key", m.Key)
	w.start(m)
	return nil
}

func (w *Worker) grabSlot() bool {
	if w.ending() {
		return false
	}
	select {
	case w.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (w *Worker) freeSlot() {
	<-w.slots
	if w.backlog.Load() {
		w.lookNow()
	}
}

// ending says whether this process takes nothing new.
func (w *Worker) ending() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}

func (w *Worker) lookNow() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}
