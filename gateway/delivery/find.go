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

	// maxLooks is how many doubts of a part are dispelled by a network that does not find it. What it
	// fails on each time, and never shows, is repeated with marks then, of which there are few: it
	// would hold the chat for ever otherwise.
	maxLooks = 3
)

// errEnding leaves a delivery to the process that comes next.
var errEnding = errors.New("process stopping")

// rest waits for d and keeps no place meanwhile. The grace period of an ending process is for
// what can be sent in it, so the wait ends when that begins.
func (a *attempt) rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.running(), func() { cancel(errEnding) })()
	a.place.release()
	if err := a.Wait(ctx, d); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// resolveAmbiguous asks the network what became of a part that may have arrived, if it is
// one that can be asked. It is Sent then, or Queued again as if it had never been
// sent; as it was when the network cannot say, and then it is repeated, marked. That a part
// is not there says nothing where the doubt is foreign: a process that lost the right to
// send does not cut its call off, and one that froze or lost its network may make it at any
// later time. It waits the longer, the more calls of this attempt have ended in doubt.
func (a *attempt) resolveAmbiguous(ctx context.Context, i int, foreign bool, doubts int) error {
	pause := repeatPause(doubts)
	f, ok := a.ch.(channels.Finder)
	if !ok || channels.IsPrivateReply(a.d.ReplyTo) { // which no history has
		return a.rest(ctx, pause)
	}
	if err := a.rest(ctx, max(settle, pause)); err != nil {
		return err
	}
	r, found, err := a.findSent(ctx, f, i)
	log := a.Logger.With("channel", a.name, "delivery", a.d.ID, "part", i)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log.Warn("delivery lookup failed", "error", err)
		return nil
	}
	log.Info("ambiguous delivery looked up", "found", found)
	if !found && (foreign || a.isFile(i)) { // a file carries no id, and may be shown later than it was taken
		return nil
	}
	m := a.newMark(i, sessions.Ambiguous, sessions.Queued, "")
	if found {
		m.To, m.MessageID = sessions.Sent, r.MessageID
	} else {
		m.Repeats = 0
	}
	marks := []sessions.Mark{m}
	if found && a.isFile(i) {
		marks = append(marks, a.newMark(i+1, sessions.Queued, sessions.Failed, sessions.UnneededProblem))
	}
	if err := a.storeReceipt(ctx, marks...); err != nil {
		return err
	}
	if found {
		a.Observer.CountSent(a.name, "ok", a.Now().Sub(a.started))
		if i == 0 {
			a.previews.countFirstReply(a.d)
		}
	}
	return nil
}

// findSent asks, and waits when the network wants that.
func (a *attempt) findSent(ctx context.Context, f channels.Finder, i int) (r channels.Receipt, found bool, err error) {
	for range findTries {
		asking, cancel := context.WithTimeout(ctx, sendTimeout)
		r, found, err = f.Find(asking, a.at.to, partID(a.d, i), a.d.At)
		cancel()
		ce, ok := asChannelError(err)
		if !ok || ce.Kind != channels.RateLimit {
			return r, found, err
		}
		if err := a.Wait(ctx, max(ce.RetryAfter, time.Second)); err != nil {
			return r, false, err
		}
	}
	return r, found, err
}

// partID returns the id that a part has at the network.
func partID(d *sessions.Delivery, i int) string { return fmt.Sprintf("%s/%d", d.ID, i) }
