package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/channels"
	"parley/sessions"
)

const (
	// settle is how long after a doubt a network is asked what became of a send: a
	// request that was cut off may still be under way there.
	settle = 10 * time.Second

	findTries = 3 // when the network asks to wait
)

// errEnding leaves a delivery to the process that comes next.
var errEnding = errors.New("the process ends")

// settled waits until the network can be asked. The grace period of an ending
// process is for what can be sent in it, so the wait ends when that begins.
func (a *account) settled(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.mu.Lock()
	running := a.running
	a.mu.Unlock()
	defer context.AfterFunc(running, func() { cancel(errEnding) })()
	if err := a.d.Wait(ctx, settle); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// resolve asks the network what became of a part that may have arrived, if it is
// one that can be asked. It is Sent then, or Queued again as if it had never been
// sent; as it was when the network cannot say, and then it is repeated, marked.
func (a *account) resolve(ctx context.Context, d *sessions.Delivery, i int, at place, started time.Time) error {
	f, ok := a.ch.(channels.Finder)
	if !ok {
		return nil
	}
	if err := a.settled(ctx); err != nil {
		return err
	}
	r, found, err := a.lookUp(ctx, f, d, i, at)
	log := a.d.Logger.With("channel", a.name, "delivery", d.ID, "part", i)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log.Warn("the network cannot say whether an answer arrived", "error", err)
		return nil
	}
	if !found && d.File != nil && i == 0 {
		return nil // a file carries no id, and may be shown later than it was taken
	}
	log.Info("the network was asked whether an answer arrived", "arrived", found)
	m := a.mark(i, sessions.Uncertain, sessions.Queued)
	if found {
		m.To, m.MessageID = sessions.Sent, r.MessageID
	}
	marks := []sessions.Mark{m}
	if found && d.File != nil && i == 0 {
		marks = append(marks, a.unneeded(1))
	}
	moved, err := a.keep(ctx, d, marks)
	if err != nil {
		return err
	}
	if !moved {
		return errTaken
	}
	d.Parts[i].State, d.Parts[i].Problem = m.To, ""
	if len(marks) > 1 {
		d.Parts[1].State, d.Parts[1].Problem = sessions.Failed, unneeded
	}
	if found {
		a.d.Observer.Sent(a.name, "ok", a.d.Now().Sub(started))
		if i == 0 {
			a.firstReply(d)
		}
	}
	return nil
}

// lookUp asks, and waits when the network wants that.
func (a *account) lookUp(ctx context.Context, f channels.Finder, d *sessions.Delivery, i int, at place) (r channels.Receipt, found bool, err error) {
	for range findTries {
		asking, cancel := context.WithTimeout(ctx, sendTimeout)
		r, found, err = f.Find(asking, at.to, partID(d, i), d.At)
		cancel()
		ce, ok := errorOf(err)
		if !ok || ce.Kind != channels.RateLimit {
			return r, found, err
		}
		if err := a.d.Wait(ctx, max(ce.RetryAfter, time.Second)); err != nil {
			return r, false, err
		}
	}
	return r, found, err
}

// partID is the id that a part has at the network.
func partID(d *sessions.Delivery, i int) string { return fmt.Sprintf("%s/%d", d.ID, i) }
