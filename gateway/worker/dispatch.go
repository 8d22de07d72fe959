package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/agent"
	"parley/broker"
	"parley/faultpoint"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// ConversationOf returns the conversation that a message of the mailbox token names, or an
// error when that is none, or another mailbox's.
func ConversationOf(token, name string) (sessionkeys.Key, error) {
	key, err := sessionkeys.Parse(name)
	if err != nil {
		return sessionkeys.Key{}, fmt.Errorf("read the conversation's key: %w", err)
	}
	if key.Depth() == 0 && key.Token() != token {
		return sessionkeys.Key{}, errors.New("the key belongs to another mailbox")
	}
	return key, nil
}

// receive notes that a mailbox has a message, and takes the mailbox when there
// is a free slot.
func (w *Worker) receive(ctx context.Context, d broker.WakeUp) error {
	key, err := ConversationOf(d.Token, d.Key)
	if err != nil {
		return w.deadLetterDelivery(ctx, d, err)
	}
	if err := w.touch(ctx, d.Token, key, d.Seq); err != nil {
		return err
	}
	faultpoint.Hit("worker.touch.after") // the delivery is not confirmed yet
	return nil
}

func (w *Worker) deadLetterDelivery(ctx context.Context, d broker.WakeUp, why error) error {
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
	w.Observer.CountDeadLetter("", "key")
	w.Logger.Warn("message moved to the dead letters", "letter", e.ID, "reason", "key", "problem", why)
	return nil
}

func (w *Worker) touch(ctx context.Context, token string, key sessionkeys.Key, seq uint64) error {
	take := !w.hasBacklog() && w.leases.holds() && w.acquireSlot() // not before those that wait already
	started, err := w.touchSerialized(ctx, sessions.Touch{Token: token, Key: key, Seq: seq, By: w.Identity, Take: take})
	if take && !started {
		w.releaseSlot()
	}
	return err
}

// touchSerialized makes one touch of a mailbox at a time in this process, so that
// "the owner is me, but no actor works on it" can only mean that an earlier
// answer was lost.
func (w *Worker) touchSerialized(ctx context.Context, t sessions.Touch) (started bool, err error) {
	unlock := w.actors.lock(t.Token)
	defer unlock()
	t.Now = w.leases.now()
	if t.Take {
		var cancel context.CancelFunc
		ctx, cancel = withTakeGrace(ctx)
		defer cancel()
	}
	m, got, started, err := w.take(ctx, t)
	if err != nil {
		return started, fmt.Errorf("touch the mailbox: %w", err)
	}
	if started {
		return true, nil
	}
	if !got && t.Take && m.Owner == w.Identity && m.HasWork() && w.leases.holds() && !w.actors.has(t.Token) && !w.recovering.Load() {
		m, err = w.Store.Reacquire(ctx, m.Fence(), w.leases.now())
		if errors.Is(err, sessions.ErrFenced) {
			// Another worker has this one's name: this one is dead to the store, and will
			// hear of it with its next heartbeat. The message is noted; others take it.
			w.hintOthers()
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("reacquire the mailbox: %w", err)
		}
		got = true
	}
	if got {
		return w.startIfLeased(ctx, m), nil
	}
	w.actors.notifyMessage(t.Token, m.LastSeen)
	switch {
	case m.Owner == (sessions.Worker{}) && m.HasWork(): // no slot was free, or this worker's lease does not hold
		w.markBacklog()
		w.nudge.Send()
		w.hintOthers()
	case m.Owner != (sessions.Worker{}) && m.Owner != w.Identity && t.Seq > 0 && w.maySteer():
		w.signal(signals.WorkTopic, signals.Work{From: w.Identity.Nonce, Token: t.Token, Seq: m.LastSeen})
	}
	return false, nil
}

// take touches the mailbox. If it is taken, and an actor can begin before that is durable, one
// does, and started says so: its first commit brings the other with it. A mailbox that was not
// taken after all refuses that commit, as one does that another worker took, and the actor has
// ended when take returns, unless ctx ends before.
func (w *Worker) take(ctx context.Context, t sessions.Touch) (m sessions.Mailbox, got, started bool, err error) {
	if !t.Take {
		m, got, err = w.Store.Touch(ctx, t)
		return m, got, false, err
	}
	early := make(chan sessions.Mailbox, 1)
	t.Taken = func(m sessions.Mailbox) {
		select {
		case early <- m:
		default: // it was told before: the write was repeated
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m, got, err = w.Store.Touch(ctx, t)
	}()
	select {
	case <-done:
		return m, got, false, err
	case taken := <-early:
		if started = w.leases.holds(); !started {
			<-done
			return m, got, false, err
		}
		a := w.newActor(taken)
		a.durable = done
		w.actors.start(a)
		<-done
		if ctx.Err() == nil && (err != nil || !got) { // else nobody knows, and this process ends
			// The next actor of the mailbox may have the same fence: a would then give back what
			// that one works on.
			a.cancel(agent.ErrHandover)
			select {
			case <-a.done:
			case <-ctx.Done(): // it cannot give back either, and the end of the process waits for this
			}
		}
		return m, got, true, err
	}
}

// receiveControl reacts to the signal that a control request was stored: the actor
// here looks at once; a mailbox without an owner is taken.
func (w *Worker) receiveControl(ctx context.Context, s broker.Signal) {
	var c signals.Control
	if err := json.Unmarshal(s.Body, &c); err != nil {
		w.Logger.Warn("unreadable signal dropped", "topic", s.Topic, "error", err)
		return
	}
	if w.actors.wake(c.Token) || w.stopping() {
		return
	}
	m, err := w.Store.Mailbox(ctx, c.Token)
	if err == nil && m.Controls > 0 {
		err = w.touch(ctx, c.Token, m.Key, 0)
	}
	if err != nil && ctx.Err() == nil {
		w.Logger.Warn("control request deferred to the next scan", "error", err)
	}
}
