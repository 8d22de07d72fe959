package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"parley/agent"
	"parley/sessions"
	"parley/wake"
)

// actor owns one mailbox for a while. Only its own goroutine touches its
// fields.
type actor struct {
	*owner
	*queue
	*deadLetters
	*reactions
	*suspicion
	*answers
	*commands
	*rights
	*requests

	stopRequested bool // the last turn ended because somebody said stop
}

// queue is what waits in the mailbox, read ahead and gathered.
type queue struct {
	*owner
	lookahead []item // what was read of the mailbox and not taken yet, in order
}

// deadLetters gives to the dead letters what is given up.
type deadLetters struct{ *owner }

// reactions says on people's messages how far the bot is with them.
type reactions struct {
	*owner
	marks marks // of the turn that runs
}

// answers ends messages with an answer and without a turn.
type answers struct{ *owner }

// commands carries out commands that change how the conversation goes on: its session, model, title,
// goal or mode.
type commands struct{ *answers }

// owner is a mailbox that this worker has, and the time that it has for it.
type owner struct {
	w     *Worker
	token string
	// settings are those of the present step, or of its turn. Only the actor's goroutine
	// changes them, and never while a turn runs.
	settings *Settings
	m        sessions.Mailbox
	ctx      context.Context
	cancel   context.CancelCauseFunc
	woken    wake.Signal // look for control requests
	news     wake.Signal // there are more messages
	done     chan struct{}
	durable  <-chan struct{} // closed when it is durable that m was taken; nil: it is

	lastSeen atomic.Uint64 // the highest message that is known to be there; whoever hears of one raises it

	slot     slot
	admitted *person // whose turn is counted
	didWork  bool    // a turn or a command was ended since others were let go first
}

// start gives m, which this worker has just taken, an actor. The caller holds
// the mailbox and a slot; the slot is the actor's from now on.
func (w *Worker) start(m sessions.Mailbox) { w.actors.start(w.newActor(m)) }

func (w *Worker) newActor(m sessions.Mailbox) *actor {
	ctx, cancel := context.WithCancelCause(w.actors.base)
	o := &owner{
		w: w, token: m.Token, settings: w.Present(), m: m, ctx: ctx, cancel: cancel,
		woken: wake.New(), news: wake.New(), done: make(chan struct{}), slot: slot{w: w, held: true},
	}
	o.lastSeen.Store(m.LastSeen)
	a := &actor{
		owner: o, queue: &queue{owner: o}, deadLetters: &deadLetters{o}, reactions: &reactions{owner: o}, suspicion: &suspicion{owner: o},
		answers: &answers{o}, rights: &rights{o},
	}
	a.commands, a.requests = &commands{a.answers}, &requests{a.rights}
	return a
}

// awaitDurable waits until readers of the store see that the mailbox was taken; false when
// ctx ends before.
func (a *owner) awaitDurable(ctx context.Context) bool {
	if a.durable == nil {
		return true
	}
	select {
	case <-a.durable:
		return true
	case <-ctx.Done():
		return false
	}
}

// startIfLeased calls start, unless the answer that m was taken came after this worker's
// lease had ended: others may take m from it at once, and a model call that is
// begun would be paid twice. Then m is given back, which is no attempt.
func (w *Worker) startIfLeased(ctx context.Context, m sessions.Mailbox) (started bool) {
	if w.leases.holds() {
		w.start(m)
		return true
	}
	if err := w.Store.Handover(ctx, m.Fence()); err != nil && !errors.Is(err, sessions.ErrFenced) {
		w.Logger.Warn("late mailbox not handed over", "session", m.Session, "error", err) // it is adopted
	}
	w.hintOthers()
	return false
}

// raiseLastSeen notes that the mailbox has a message seq.
func (a *owner) raiseLastSeen(seq uint64) {
	for {
		known := a.lastSeen.Load()
		if seq <= known || a.lastSeen.CompareAndSwap(known, seq) {
			return
		}
	}
}

// hasUnread reports whether messages are known that no turn has read.
func (a *owner) hasUnread() bool {
	a.m.LastSeen = max(a.m.LastSeen, a.lastSeen.Load())
	return a.m.LastSeen > a.m.LastRead
}

// How long a mailbox rests after work on it failed, before it is given back:
// what is wrong with the store, the log or the configuration is rarely mended
// in a moment. It rests without a slot.
const (
	restFirst = 100 * time.Millisecond
	restMost  = 15 * time.Second
)

func (a *actor) run() {
	defer a.cancel(nil)
	err := a.workRecovering()
	a.slot.Release()
	a.clearSuspicion()
	var p *agent.PanicError
	switch {
	case err == nil:
		a.w.actors.clearFailures(a.token)
		return
	case errors.Is(err, sessions.ErrFenced):
		a.w.actors.clearFailures(a.token)
		a.w.Logger.Info("session taken over by another worker", "session", a.m.Session)
		return
	case errors.As(err, &p):
		// The mailbox stays in this worker's name: it is adopted again and the
		// attempt counts, until the message goes to the dead letters.
		a.w.Logger.Error("session panicked", "session", a.m.Session, "panic", p.Value, "stack", string(p.Stack))
		return
	case errors.Is(err, errSuspect):
		for wait := restFirst; !a.handOver() && a.w.pause(wait); {
			wait = min(2*wait, restMost)
		}
		return // who runs alone has the next one taken up; so does each periodic look
	case errors.Is(err, agent.ErrHandover) || a.ctx.Err() != nil:
		// Its lease may have passed while the store could not be reached. Until it
		// can, the attempt must not count. What the turn commits at its end is then
		// refused, with an error that says nothing of a handover.
		if !errors.Is(err, agent.ErrHandover) {
			a.w.Logger.Warn("session ended with an error while it is handed over", "session", a.m.Session, "error", err)
		}
		for wait := restFirst; !a.handOver() && a.w.pause(wait); {
			wait = min(2*wait, restMost)
		}
		a.w.signalWork()
		return
	}
	n := a.w.actors.countFailure(a.token)
	wait := min(restFirst<<min(n-1, 10), restMost)
	a.w.Logger.Error("session failed, handing it over for a retry", "session", a.m.Session, "failures", n, "wait", wait, "error", err)
	a.rest(wait)
	for !a.handOver() && a.rest(wait) {
		wait = min(2*wait, restMost)
	}
	a.w.markBacklog()
	a.w.nudge.Send()
}

// workRecovering calls work and returns a panic as an error.
func (a *actor) workRecovering() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &agent.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return a.work()
}

// rest waits for d; false when there is no time left, because the process ends
// or lost its lease. A person who says stop is not kept waiting.
func (a *owner) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.woken:
	case <-a.ctx.Done():
		return false
	case <-a.w.closing:
		return false
	}
	return true
}

// pause waits for d; false when the process ends.
func (w *Worker) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.closing:
		return false
	}
}

// handOver gives the mailbox back with its attempt; false when the store does
// not do so.
func (a *owner) handOver() bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
	defer cancel()
	err := a.w.Store.Handover(ctx, a.m.Fence())
	if err == nil || errors.Is(err, sessions.ErrFenced) {
		return true
	}
	a.w.Logger.Warn("session handover failed", "session", a.m.Session, "error", err)
	return false
}

// work goes on until nothing is owed or this process goes away.
func (a *actor) work() error {
	for {
		a.slot.Reacquire(a.ctx) // a turn that was ended may have lost it
		if a.w.stopping() || a.ctx.Err() != nil {
			return agent.ErrHandover
		}
		if !a.mayRun() {
			return errSuspect
		}
		released, err := a.step()
		if err == nil && !released && a.didWork {
			a.didWork = false
			released, err = a.yieldIfContended()
		}
		if err != nil || released {
			return err
		}
	}
}

// yieldIfContended lets others go first who wait for a slot, so that a conversation that
// never falls silent delays them by one turn at most: the mailbox is given back
// when others wait that no worker has taken up, and goes behind them; else the
// slot alone when turns wait for one that gave theirs back.
func (a *actor) yieldIfContended() (yielded bool, err error) {
	w := a.w
	if a.m.Controls > 0 || a.m.Turn != nil {
		return false, nil // a stop takes no time
	}
	if w.hasBacklog() {
		if yielded, err = w.Store.Yield(a.ctx, a.m.Fence(), w.leases.now()); err != nil {
			return false, fmt.Errorf("let others go first: %w", err)
		}
		if yielded {
			w.markBacklog() // it is one of them now
			return true, nil
		}
	}
	if w.slots.hasWaiting() {
		a.slot.Release() // work takes it again, behind them
	}
	return false, nil
}

func (a *actor) step() (released bool, err error) {
	defer a.discharge()
	a.settings = a.w.Present()
	stop := a.m.Controls > 0
	switch {
	case a.m.Turn != nil:
		return a.resume(stop)
	case stop:
		return a.applyControls()
	case a.m.LastSeen > a.m.LastRead:
		return a.takeNext()
	}
	return a.release()
}

func (a *owner) release() (bool, error) {
	m, released, err := a.w.Store.Release(a.ctx, a.m.Fence())
	if err != nil {
		return false, fmt.Errorf("release the mailbox: %w", err)
	}
	a.m = m
	return released, nil
}

// turnID returns a pure function of where the message stands in the log, so that
// a repeated Open finds its turn.
func (a *owner) turnID(seq uint64) string { return TurnID(a.w.Generation, a.token, seq) }

// TurnID returns the id of the turn that is opened by the message at seq of a
// mailbox, in the log of that generation.
func TurnID(generation, token string, seq uint64) string {
	b, _ := json.Marshal([]string{"turn", generation, token, strconv.FormatUint(seq, 10)})
	sum := sha256.Sum256(b)
	return "t-" + hex.EncodeToString(sum[:16])
}
