package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/broker"
	"parley/faultpoint"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// Addressee is the conversation that a message of the mailbox token names, or an
// error when that is none, or another mailbox's.
func Addressee(token, name string) (sessionkeys.Key, error) {
	key, err := sessionkeys.Parse(name)
	if err != nil {
		return sessionkeys.Key{}, fmt.Errorf("read the conversation's key: %w", err)
	}
	if key.Depth() == 0 && key.Token() != token {
		return sessionkeys.Key{}, errors.New("the key belongs to another mailbox")
	}
	return key, nil
}

// deliver notes that a mailbox has a message, and takes the mailbox when there
// is a free slot.
func (w *Worker) deliver(ctx context.Context, d broker.Delivery) error {
	key, err := Addressee(d.Token, d.Key)
	if err != nil {
		return w.buryDelivery(ctx, d, err)
	}
	if err := w.touch(ctx, d.Token, key, d.Seq); err != nil {
		return err
	}
	faultpoint.Hit("worker.touch.after") // the delivery is not confirmed yet
	return nil
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
	w.Logger.Warn("dead letter", "letter", e.ID, "reason", "key", "problem", why)
	return nil
}

func (w *Worker) touch(ctx context.Context, token string, key sessionkeys.Key, seq uint64) error {
	take := !w.waits() && w.leases.holds() && w.grabSlot() // not before those that wait already
	started, err := w.touchLocked(ctx, sessions.Touch{Token: token, Key: key, Seq: seq, By: w.Me, Take: take})
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
	t.Now = w.leases.now()
	if t.Take {
		var cancel context.CancelFunc
		ctx, cancel = taking(ctx)
		defer cancel()
	}
	m, got, err := w.Store.Touch(ctx, t)
	if err != nil {
		return false, fmt.Errorf("touch the mailbox: %w", err)
	}
	if !got && t.Take && m.Owner == w.Me && m.Owed() && w.leases.holds() && !w.actors.has(t.Token) && !w.recovering.Load() {
		if m, err = w.Store.Reacquire(ctx, m.Fence(), w.leases.now()); err != nil {
			return false, fmt.Errorf("reacquire the mailbox: %w", err)
		}
		got = true
	}
	if got {
		return w.begin(ctx, m), nil
	}
	w.actors.more(t.Token, m.Touched)
	switch {
	case m.Owner == (sessions.Worker{}) && m.Owed(): // no slot was free, or this worker's lease does not hold
		w.owe()
		w.lookNow()
		w.tellOthers()
	case m.Owner != (sessions.Worker{}) && m.Owner != w.Me && t.Seq > 0 && w.steers():
		w.signal(signals.WorkTopic, signals.Work{From: w.Me.Nonce, Token: t.Token, Seq: m.Touched})
	}
	return false, nil
}

// control reacts to the signal that a control request was stored: the actor
// here looks at once; a mailbox that nobody works on is taken.
func (w *Worker) control(ctx context.Context, s broker.Signal) {
	var c signals.Control
	if err := json.Unmarshal(s.Body, &c); err != nil {
		w.Logger.Warn("signal that cannot be read", "topic", s.Topic, "error", err)
		return
	}
	if w.actors.poke(c.Token) || w.ending() {
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
