package simtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/policy"
	"parley/gateway/signals"
	"parley/gateway/worker"
	"parley/pause"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sessiontest"
	"parley/tools"
)

// process is one process of parley: the real worker, or the real delivery, or both.
// Whatever it does to the world goes through the gate.
type process struct {
	w      *world
	name   string // with the number of its start: w1#2
	worker bool
	sends  bool

	dead   bool // nothing of it reaches the world any more; guarded by world.mu
	frozen bool // its operations wait; guarded by world.mu
	ending bool // it was asked to end

	handlers map[string]chan broker.Signal // guarded by world.mu
	take     chan broker.WakeUp
	busy     int // deliveries in its hands; guarded by world.mu
	asks     int // model calls that run; guarded by world.mu
	stop     context.CancelFunc
	ended    chan struct{}
	err      error       // of Run; known once ended is closed
	failed   atomic.Bool // before it was asked to end
}

// The limits of a simulated worker. Two slots for three conversations make
// them wait for each other.
const (
	slots       = 2
	personTurns = 1
	lease       = 5 * time.Second
	attempts    = 3
)

func (w *world) spawn(name string, isWorker bool) {
	w.births[name]++
	p := &process{
		w: w, name: fmt.Sprintf("%s#%d", name, w.births[name]), worker: isWorker || w.whole, sends: !isWorker,
		handlers: map[string]chan broker.Signal{}, take: make(chan broker.WakeUp, 64), ended: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	run := p.roles(name)
	go func() {
		defer close(p.ended)
		p.err = run(ctx)
	}()
	w.procs = append(w.procs, p)
	w.note("%s starts", p.name)
}

// roles returns what the process does.
func (p *process) roles(name string) func(context.Context) error {
	if !p.sends {
		return p.workerRun(name, nil)
	}
	out := p.deliverer()
	if !p.worker {
		return out.Run
	}
	work := p.workerRun(name, func(channel string) worker.Handoff { return out.Handoff(channel) })
	return func(asked context.Context) error {
		g, ctx := errgroup.WithContext(asked)
		for _, run := range []func(context.Context) error{out.Run, work} {
			g.Go(func() error {
				err := run(ctx)
				if err != nil && asked.Err() == nil {
					p.failed.Store(true) // the other role ends, too, which takes its time
				}
				return err
			})
		}
		return g.Wait()
	}
}

func (p *process) workerRun(name string, handoff func(string) worker.Handoff) func(context.Context) error {
	w, err := worker.New(worker.Options{
		Config:   policy.Turns{Turns: slots, PersonTurns: personTurns, Lease: lease, Grace: 2 * time.Second, Attempts: attempts},
		Identity: sessions.Worker{Name: name, Nonce: p.name}, Generation: "g", Log: p, Store: sessiontest.Intercept(p.w.store, p.around),
		Settings: worker.Settings{
			Agents:  map[string]worker.Agent{"main": {Model: &model{p}, Tools: p.w.newTools(p)}},
			Waiting: map[string]policy.Waiting{channel: {WhileBusy: p.w.busy}},
			Loop:    agent.Loop{Now: time.Now},
		},
		Busy: &agent.Registry{}, Handoff: handoff,
		Workspace: func(sessionkeys.SessionID) (string, error) { return "/", nil },
		Observer:  noopObserver{}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		return func(context.Context) error { return err }
	}
	return w.Run
}

func (p *process) deliverer() *delivery.Delivery {
	return delivery.New(delivery.Options{
		Store: sessiontest.Intercept(p.w.store, p.around), Log: p, Channels: []channels.Channel{&network{p}}, Observer: noopObserver{},
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, Wait: pause.For,
	})
}

// kill ends p as SIGKILL does: what it asked the world for and was not done is
// not done, and nobody hears of the rest.
func (p *process) kill() {
	p.w.mu.Lock()
	p.dead, p.frozen = true, false
	var mine []*op
	for _, o := range p.w.parked {
		if o.p == p {
			mine = append(mine, o)
		}
	}
	p.w.mu.Unlock()
	p.stop()
	for _, o := range mine {
		p.w.finishOp(o, errDead)
	}
}

// hasEnded reports whether p has ended by itself, and with what.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Consume implements [worker.Log]: each delivery in a goroutine of its own.
func (p *process) Consume(ctx context.Context, h func(context.Context, broker.WakeUp) error) error {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case d := <-p.take:
			handlers.Go(func() { p.handle(ctx, d, h) })
		}
	}
}

func (p *process) handle(ctx context.Context, d broker.WakeUp, h func(context.Context, broker.WakeUp) error) {
	name := p.w.personName(d.Token)
	if p.w.o.AckFirst {
		_ = p.park(ctx, &op{kind: "ack", what: fmt.Sprintf("ack %s@%d", name, d.Seq), do: func() { p.w.log.ack(d.Seq) }})
	}
	err := h(ctx, d)
	if err == nil && !p.w.o.AckFirst {
		_ = p.park(ctx, &op{kind: "ack", what: fmt.Sprintf("ack %s@%d", name, d.Seq), do: func() { p.w.log.ack(d.Seq) }})
	}
	p.w.log.giveBack(p, d.Seq)
}

// NextAtLeast implements [worker.Log].
func (p *process) NextAtLeast(ctx context.Context, token string, after, expect uint64) (broker.Envelope, error) {
	o := &op{kind: "read", what: fmt.Sprintf("read %s after %d", p.w.personName(token), after), token: token}
	return call(ctx, p, o, func() (broker.Envelope, error) { return p.w.log.next(token, after, expect, p.w.isBehind()) })
}

// Publish implements [worker.Log].
func (p *process) Publish(ctx context.Context, e broker.Envelope) (uint64, error) {
	o := &op{kind: "publish", what: "publish " + p.w.personName(e.Token), token: e.Token}
	return call(ctx, p, o, func() (uint64, error) { return p.w.log.publish(e), nil })
}

// DeadLetter implements [worker.Log].
func (p *process) DeadLetter(ctx context.Context, d broker.DeadLetter) error {
	return call0(ctx, p, &op{kind: "bury", what: "bury " + d.ID}, func() error {
		p.w.log.deadLetter(d)
		return nil
	})
}

// Signal implements [worker.Log] and [delivery.Log]. What it says waits until
// the scheduler brings it to somebody, or loses it.
func (p *process) Signal(_ context.Context, s broker.Signal) error {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.dead {
		return errDead
	}
	if s.Topic != signals.PreviewTopic { // the network shows none
		p.w.signals[signalKey{s.Topic, string(s.Body)}] = true
	}
	return nil
}

// Signals implements [worker.Log] and [delivery.Log].
func (p *process) Signals(ctx context.Context, topic string, h func(broker.Signal)) error {
	ear := make(chan broker.Signal, 8)
	p.w.mu.Lock()
	p.handlers[topic] = ear
	p.w.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-ear:
			h(s)
		}
	}
}

// newTools are one that may only begin once, and one that may run again.
func (w *world) newTools(p *process) *tools.Set {
	set, err := tools.NewSet(&tool{p, "strike", tools.Write}, &tool{p, "look", tools.Read})
	if err != nil {
		w.fail("the tools: %v", err)
	}
	return set
}

// endProblem returns what is wrong with how p ended by itself, or "".
func (p *process) endProblem() string {
	if p.err == nil || p.dead || errors.Is(p.err, sessions.ErrFenced) { // fenced: another one of its name started
		return ""
	}
	if p.ending && !p.failed.Load() {
		return fmt.Sprintf("%s was asked to end and failed: %v", p.name, p.err)
	}
	return ""
}
