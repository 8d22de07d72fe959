package delivery

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"parley/channels"
	"parley/faultpoint"
	"parley/sessionkeys"
	"parley/sessions"
)

const (
	sendTimeout = 60 * time.Second
	backoffMost = time.Minute
)

// send makes the one call, into the turn's preview where there is one. A call
// that has begun is not cut off when the process is asked to end.
func (a *attempt) send(lane context.Context, i, try int) (channels.Receipt, error) {
	if a.isFile(i) {
		return a.sendFile(lane, i, try)
	}
	body, err := a.bodyOf(i)
	if err != nil {
		return channels.Receipt{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(lane), sendTimeout)
	defer cancel()
	if id, _ := a.previews.target(a.d, a.at); id != "" && i == 0 {
		if r, err, ok := a.editPreview(ctx, a.at.to, id, body); ok {
			return r, err
		}
	}
	reply := a.reply(i)
	reply.Body = body
	return a.ch.Send(ctx, reply)
}

// reply returns a part's message without its body. Of an answer the first hangs on the
// question, as do a file and the sentence in its place. What one person alone may see is theirs
// in all parts, also in a chat that has moved.
func (a *attempt) reply(i int) channels.Reply {
	r := channels.Reply{To: a.at.to, ID: partID(a.d, i), Repeat: a.d.Parts[i].Repeats > 0}
	if channels.IsPrivateReply(a.d.ReplyTo) || (i == 0 || a.d.File != nil) && !a.at.movedSince(askedAt(a.d)) {
		r.ReplyTo = a.d.ReplyTo
	}
	return r
}

// editPreview edits the preview into the final text, which may safely be repeated.
// ok is false when the preview is no longer there and the text must be sent.
func (a *attempt) editPreview(ctx context.Context, to sessionkeys.Address, id string, b channels.Body) (r channels.Receipt, err error, ok bool) {
	ed, can := a.ch.(channels.Editor)
	if !can {
		return r, nil, false
	}
	err = ed.Edit(ctx, to, id, b)
	if err == nil {
		return channels.Receipt{MessageID: id}, nil, true
	}
	ce, known := asChannelError(err)
	switch {
	case !known: // an edit is no repeat: what is in doubt is done again
		err = &channels.Error{Kind: channels.Unsent, Op: "edit", Err: err}
	case ce.Kind == channels.Refused:
		return r, nil, false
	case ce.Kind == channels.Ambiguous:
		err = &channels.Error{Kind: channels.Unsent, Op: ce.Op, Status: ce.Status, Message: ce.Message, Err: ce.Err}
	}
	return r, err, true
}

// recordSent keeps the receipt of a part. The next one is marked with it, if it can follow
// at once; not after ctx has ended, when nothing more is begun.
func (a *attempt) recordSent(ctx context.Context, i int, r channels.Receipt) error {
	m := a.newMark(i, sessions.Sending, sessions.Sent, "")
	m.MessageID = r.MessageID
	marks := []sessions.Mark{m}
	if i+1 < len(a.d.Parts) && a.d.Parts[i+1].State == sessions.Queued {
		if a.isFile(i) {
			marks = append(marks, a.newMark(i+1, sessions.Queued, sessions.Failed, sessions.UnneededProblem))
		} else if ctx.Err() == nil && a.bookRoom() <= 0 {
			marks = append(marks, a.sendingMark(i+1))
		}
	}
	outcome := "ok"
	if a.d.Parts[i].Repeats > 0 {
		outcome = "ambiguous"
	}
	took := a.Now().Sub(a.started)
	if err := a.storeReceipt(ctx, marks...); err != nil {
		return err
	}
	faultpoint.HitOn("delivery.receipt.after", visibleText(a.d))
	a.Observer.CountSent(a.name, outcome, took)
	if i == 0 {
		a.previews.countFirstReply(a.d)
	}
	return nil
}

// decideFailure decides what a failed call means: nil to try again.
func (a *attempt) decideFailure(ctx context.Context, i int, ce *channels.Error, try int) error {
	log := a.Logger.With("channel", a.name, "delivery", a.d.ID, "part", i, "error", ce)
	switch ce.Kind {
	case channels.Ambiguous:
		log.Warn("ambiguous delivery: the message may have arrived")
		return a.markAmbiguous(ctx, i, ce.Error())
	case channels.RateLimit:
		a.Observer.SendRetried(a.name, "rate_limited")
		wait := ce.RetryAfter
		if wait <= 0 { // it did not say how long
			wait = time.Second
		}
		log.Info("rate limited by the network, waiting", "wait", wait)
		if err := a.abandonPreview(ctx, i, wait); err != nil {
			return err
		}
		return a.retryLater(ctx, i, wait)
	case channels.Unsent, channels.Unauthorized:
		reason := "network"
		if ce.Status != 0 {
			reason = "server"
		}
		a.Observer.SendRetried(a.name, reason)
		wait := backoffMost
		if ce.Kind == channels.Unsent {
			wait = min(time.Second<<min(try-1, 6), backoffMost)
		}
		wait += time.Duration(rand.Int64N(int64(wait/5) + 1)) // jitter
		log.Warn("delivery failed, retrying", "wait", wait)
		return a.retryLater(ctx, i, wait)
	}
	if channels.IsPrivateReply(a.d.ReplyTo) && len(a.d.Choices) > 0 {
		log.Info("question not shown to one person", originOf(a.d)...) // who may not be in the chat, and has a notice there
		a.Observer.CountSent(a.name, "dropped", 0)
		return a.fail(ctx, i, reasonOf(ce), ce.Error())
	}
	log.Error("delivery rejected by the network", originOf(a.d)...)
	a.Observer.CountSent(a.name, "rejected", 0)
	return a.fail(ctx, i, reasonOf(ce), ce.Error())
}

// retryLater puts the part back, so that a crash while waiting is no doubt, and
// waits.
func (a *attempt) retryLater(ctx context.Context, i int, wait time.Duration) error {
	if err := a.advance(context.WithoutCancel(ctx), a.queuedAgain(i)); err != nil {
		return err
	}
	a.place.release()
	return a.Wait(ctx, wait)
}

// queuedAgain returns the mark of a part of which this call has surely sent nothing.
func (a *attempt) queuedAgain(i int) sessions.Mark {
	m := a.newMark(i, sessions.Sending, sessions.Queued, "")
	if m.Repeats > 0 { // still the same repeat
		m.To, m.Repeats = sessions.Ambiguous, m.Repeats-1
	}
	return m
}

// markAmbiguous notes that a part may have arrived. It is sent again, marked as a
// possible repeat; one that was repeated too often is given up.
func (a *attempt) markAmbiguous(ctx context.Context, i int, problem string) error {
	if a.d.Parts[i].Repeats >= maxRepeats {
		a.Logger.Error("delivery given up: it may have arrived each time, and never surely", append(originOf(a.d), "channel", a.name,
			"delivery", a.d.ID, "part", i, "repeats", a.d.Parts[i].Repeats, "problem", problem)...)
		a.Observer.CountSent(a.name, "ambiguous", 0)
		return a.fail(ctx, i, sessions.Unconfirmed, problem)
	}
	return a.advance(context.WithoutCancel(ctx), a.newMark(i, sessions.Sending, sessions.Ambiguous, problem))
}

// originOf returns for the log whose answer a delivery is.
func originOf(d *sessions.Delivery) []any {
	about := []any{"chat", d.To.Peer}
	if d.Session != "" {
		about = append(about, "session", d.Session)
	}
	if d.Turn != "" {
		about = append(about, "turn", d.Turn)
	}
	return about
}

func (a *attempt) fail(ctx context.Context, i int, why sessions.FailReason, problem string) error {
	m := a.newMark(i, sessions.Sending, sessions.Failed, problem)
	m.Reason = why
	return a.advance(context.WithoutCancel(ctx), m)
}

// visibleText returns what people see of a delivery, for tests.
func visibleText(d *sessions.Delivery) string {
	if d.File != nil {
		return d.File.Name
	}
	return d.Text
}

func asChannelError(err error) (*channels.Error, bool) { return errors.AsType[*channels.Error](err) }
