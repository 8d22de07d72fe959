package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	receiptFirst = 100 * time.Millisecond // then doubled
	receiptMost  = 15 * time.Second

	// repeatNote is the problem noted on a part that is sent again because the
	// one before may have arrived.
	repeatNote = "repeat %d: the one before may have arrived"

	// mostRepeats bounds how often that is done. A process that is killed while
	// it sends does not know whether anything left, so giving up after the
	// first doubt would lose answers that nobody has seen; a network that never
	// confirms must not fill a chat for ever.
	mostRepeats = 5
)

// repeats is how often the part was sent again, by its note.
func repeats(p sessions.Part) int {
	n := 0
	_, _ = fmt.Sscanf(p.Problem, repeatNote, &n) // any other note: never
	return n
}

// deliver brings one delivery to its end, or returns an error and leaves it to
// the next scan.
func (a *account) deliver(ctx context.Context, d *sessions.Delivery) error {
	started := a.d.Now()
	at, err := a.find(ctx, d.To)
	if err != nil {
		return err
	}
	if at.chat.Shut {
		return a.drop(ctx, d)
	}
	if len(d.Parts) == 0 {
		if err := a.prepare(ctx, d, at); err != nil {
			return err
		}
	}
	for i := range d.Parts {
		if err := a.part(ctx, d, i, &at, started); err != nil {
			return err
		}
	}
	return nil
}

// prepare renders the text and stores the parts, the first already marked.
func (a *account) prepare(ctx context.Context, d *sessions.Delivery, at place) error {
	var bodies []channels.Body
	if d.File != nil {
		bodies = a.fileBodies(d.File)
	} else {
		bodies = a.ch.Render(d.Text)
	}
	if len(bodies) == 0 {
		if d.Turn != "" {
			if err := a.leave(ctx, d.Turn, asked(d), at); err != nil {
				a.d.Logger.Debug("a preview was not ended", "channel", a.name, "error", err)
			}
		}
		a.d.Observer.Sent(a.name, "dropped", 0)
		return a.d.Store.Advance(ctx, d.ID, sessions.Progress{Close: true})
	}
	m := a.begun(d, 0, at)
	p := sessions.Progress{Marks: []sessions.Mark{m}}
	for _, b := range bodies {
		raw, err := json.Marshal(b)
		if err != nil {
			return fmt.Errorf("store a rendered message: %w", err)
		}
		p.Bodies = append(p.Bodies, raw)
		d.Parts = append(d.Parts, sessions.Part{Body: raw, State: sessions.Queued})
	}
	if err := a.d.Store.Advance(ctx, d.ID, p); err != nil {
		if errors.Is(err, sessions.ErrFenced) || errors.Is(err, sessions.ErrNotFound) { // it has no parts any more
			return errTaken
		}
		return fmt.Errorf("store the parts: %w", err)
	}
	d.Parts[0].State, d.Parts[0].Problem = marked, m.Problem
	return nil
}

// marked is sending, by this very call: only in memory.
const marked sessions.SendState = "marked"

func (a *account) mark(i int, from, to sessions.SendState) sessions.Mark {
	return sessions.Mark{Index: i, From: from, To: to, At: a.d.Now(), By: a.d.me}
}

// begun is the mark of a part that is sent for the first time. If a preview that
// nobody knows the id of may stand in the chat, the text repeats that; and all of
// an answer that may have been given before is a repeat.
func (a *account) begun(d *sessions.Delivery, i int, at place) sessions.Mark {
	m := a.mark(i, sessions.Queued, sessions.Sending)
	if d.Again {
		m.Problem = fmt.Sprintf(repeatNote, 1)
		return m
	}
	if i > 0 {
		return m
	}
	if _, doubt := a.previewOf(d, at); doubt {
		m.Problem = fmt.Sprintf(repeatNote, 1)
		a.d.Logger.Warn("a preview of an answer may or may not have arrived", "channel", a.name, "delivery", d.ID)
	}
	return m
}

// move makes marks durable; done is false when another process or an earlier
// call was there first, and nothing more is to be done for this delivery.
func (a *account) move(ctx context.Context, d *sessions.Delivery, ms ...sessions.Mark) (done bool, err error) {
	err = a.d.Store.Advance(ctx, d.ID, sessions.Progress{Marks: ms})
	if errors.Is(err, sessions.ErrFenced) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("note how far an answer got: %w", err)
	}
	return true, nil
}

// errTaken ends a delivery that somebody else has brought further.
var errTaken = errors.New("the delivery was moved on elsewhere")

func (a *account) part(ctx context.Context, d *sessions.Delivery, i int, at *place, started time.Time) error {
	p := &d.Parts[i]
	moved, looked := false, false
	for try := 1; ; try++ {
		var m sessions.Mark
		switch p.State {
		case sessions.Sent, sessions.Failed:
			return nil
		case sessions.Queued:
			m = a.begun(d, i, *at)
		case sessions.Uncertain:
			if !looked {
				looked = true // once for each doubt
				if err := a.resolve(ctx, d, i, *at, started); err != nil {
					return err
				}
				if p.State != sessions.Uncertain {
					continue
				}
			}
			m = a.mark(i, sessions.Uncertain, sessions.Sending)
			m.Problem = fmt.Sprintf(repeatNote, repeats(*p)+1)
		case sessions.Sending:
			if err := a.doubt(ctx, d, i, "the process that sent it ended before the answer came"); err != nil {
				return err
			}
			continue
		}
		if p.State != marked {
			ok, err := a.move(ctx, d, m)
			if err != nil {
				return err
			}
			if !ok {
				return errTaken
			}
			p.State, p.Problem = marked, m.Problem
		}
		began := a.d.Now()
		looked = false
		faultpoint.HitOn("delivery.marked", shown(d))
		receipt, err := a.send(ctx, d, i, *at, try)
		if err == nil {
			faultpoint.HitOn("delivery.accepted", shown(d)) // by the network; nothing here says so yet
			return a.sent(ctx, d, i, receipt, started)
		}
		ce, known := errorOf(err)
		if !known {
			ce = &channels.Error{Kind: channels.Ambiguous, Op: "send", Err: err}
		}
		switch {
		case ce.Kind == channels.Moved && ce.MovedTo != "" && !moved:
			moved = true
			if err := a.follow(ctx, at, ce.MovedTo); err != nil {
				return err
			}
			continue
		case ce.Kind == channels.Gone:
			gone, err := a.shut(ctx, d.To, d.ID, began)
			if err != nil {
				return err
			}
			if gone {
				return errDropped
			}
		}
		if err := a.failed(ctx, d, i, ce, try); err != nil {
			return err
		}
	}
}

// send makes the one call, into the turn's preview where there is one. A call
// that has begun is not cut off when the process is asked to end.
func (a *account) send(lane context.Context, d *sessions.Delivery, i int, at place, try int) (channels.Receipt, error) {
	if d.File != nil && i == 0 {
		return a.sendFile(lane, d, at, try)
	}
	body, err := a.bodyOf(d, i)
	if err != nil {
		return channels.Receipt{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(lane), sendTimeout)
	defer cancel()
	if id, _ := a.previewOf(d, at); id != "" && i == 0 {
		if r, err, ok := a.into(ctx, at.to, id, body); ok {
			return r, err
		}
	}
	reply := channels.Reply{
		To: at.to, Body: body, ID: partID(d, i), Repeat: repeats(d.Parts[i]) > 0,
	}
	if (i == 0 || d.File != nil) && !at.movedSince(asked(d)) {
		reply.ReplyTo = d.ReplyTo
	}
	return a.ch.Send(ctx, reply)
}

// into edits the preview into the final text, which may safely be repeated.
// ok is false when the preview is no longer there and the text must be sent.
func (a *account) into(ctx context.Context, to sessionkeys.Address, id string, b channels.Body) (r channels.Receipt, err error, ok bool) {
	ed, can := a.ch.(channels.Editor)
	if !can {
		return r, nil, false
	}
	err = ed.Edit(ctx, to, id, b)
	if err == nil {
		return channels.Receipt{MessageID: id}, nil, true
	}
	ce, known := errorOf(err)
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

func (a *account) sent(ctx context.Context, d *sessions.Delivery, i int, r channels.Receipt, started time.Time) error {
	m := a.mark(i, sessions.Sending, sessions.Sent)
	m.MessageID = r.MessageID
	marks := []sessions.Mark{m}
	next := i+1 < len(d.Parts) && d.Parts[i+1].State == sessions.Queued
	switch {
	case next && d.File != nil:
		marks = append(marks, a.unneeded(i+1))
	case next:
		marks = append(marks, a.begun(d, i+1, place{}))
	}
	outcome := "ok"
	if repeats(d.Parts[i]) > 0 {
		outcome = "ambiguous"
	}
	took := a.d.Now().Sub(started)
	ok, err := a.keep(ctx, d, marks)
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	faultpoint.HitOn("delivery.receipt.after", shown(d))
	a.d.Observer.Sent(a.name, outcome, took)
	d.Parts[i].State = sessions.Sent
	switch {
	case next && d.File != nil:
		d.Parts[i+1].State, d.Parts[i+1].Problem = sessions.Failed, unneeded
	case next:
		d.Parts[i+1].State, d.Parts[i+1].Problem = marked, marks[1].Problem
	}
	if i == 0 {
		a.firstReply(d)
	}
	return nil
}

// keep is move for a receipt, which is not given up while this process lives,
// however long the store takes no writes: without it the message must be sent a
// second time. Its chat waits for it; nothing could be noted of what comes next.
func (a *account) keep(ctx context.Context, d *sessions.Delivery, ms []sessions.Mark) (done bool, err error) {
	for wait := receiptFirst; ; wait = min(2*wait, receiptMost) {
		done, err = a.move(context.WithoutCancel(ctx), d, ms...)
		if err == nil {
			return done, nil
		}
		a.d.Logger.Warn("a receipt could not be stored and is tried again", "channel", a.name, "delivery", d.ID, "error", err)
		if a.d.Wait(ctx, wait) != nil {
			return done, err
		}
	}
}

// failed decides what a failed call means: nil to try again.
func (a *account) failed(ctx context.Context, d *sessions.Delivery, i int, ce *channels.Error, try int) error {
	log := a.d.Logger.With("channel", a.name, "delivery", d.ID, "part", i, "error", ce)
	switch ce.Kind {
	case channels.Ambiguous:
		log.Warn("an answer may or may not have arrived")
		return a.doubt(ctx, d, i, ce.Error())
	case channels.RateLimit:
		a.d.Observer.SendRetried(a.name, "rate_limited")
		wait := ce.RetryAfter
		if wait <= 0 { // it did not say how long
			wait = time.Second
		}
		log.Info("waiting as the network asks", "wait", wait)
		return a.again(ctx, d, i, wait)
	case channels.Unsent, channels.Unauthorized:
		reason := "network"
		if ce.Status != 0 {
			reason = "server"
		}
		a.d.Observer.SendRetried(a.name, reason)
		wait := backoffMost
		if ce.Kind == channels.Unsent {
			wait = min(time.Second<<min(try-1, 6), backoffMost)
		}
		wait += time.Duration(rand.Int64N(int64(wait/5) + 1)) //nolint:gosec // jitter
		log.Warn("an answer could not be sent and is tried again", "wait", wait)
		return a.again(ctx, d, i, wait)
	}
	log.Error("the network refuses an answer for good")
	a.d.Observer.Sent(a.name, "rejected", 0)
	if d.File != nil && i == 0 {
		return a.fail(ctx, d, i, whyNot(ce))
	}
	return a.fail(ctx, d, i, ce.Error())
}

// again puts the part back, so that a crash while waiting is no doubt, and
// waits.
func (a *account) again(ctx context.Context, d *sessions.Delivery, i int, wait time.Duration) error {
	back := sessions.Queued
	m := a.mark(i, sessions.Sending, back)
	if n := repeats(d.Parts[i]); n > 0 { // still the same repeat
		m.To, m.Problem = sessions.Uncertain, fmt.Sprintf(repeatNote, n-1)
		back = m.To
	}
	ok, err := a.move(context.WithoutCancel(ctx), d, m)
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	d.Parts[i].State, d.Parts[i].Problem = back, m.Problem
	return a.d.Wait(ctx, wait)
}

// doubt notes that a part may have arrived. It is sent again, marked as a
// possible repeat; one that was repeated too often is given up.
func (a *account) doubt(ctx context.Context, d *sessions.Delivery, i int, problem string) error {
	n := repeats(d.Parts[i])
	if n >= mostRepeats {
		a.d.Observer.Sent(a.name, "ambiguous", 0)
		return a.fail(ctx, d, i, fmt.Sprintf(sentInVain+"%d times, and not once is it known to have arrived: %s", n+1, problem))
	}
	m := a.mark(i, sessions.Sending, sessions.Uncertain)
	m.Problem = problem
	if n > 0 {
		m.Problem = fmt.Sprintf(repeatNote, n)
	}
	ok, err := a.move(context.WithoutCancel(ctx), d, m)
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	d.Parts[i].State, d.Parts[i].Problem = sessions.Uncertain, m.Problem
	return nil
}

func (a *account) fail(ctx context.Context, d *sessions.Delivery, i int, problem string) error {
	m := a.mark(i, sessions.Sending, sessions.Failed)
	m.Problem = problem
	ok, err := a.move(context.WithoutCancel(ctx), d, m)
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	d.Parts[i].State, d.Parts[i].Problem = sessions.Failed, problem
	return nil
}

// sentInVain begins the problem of a part that was given up after repeats.
const sentInVain = "sent "

// shown is what people see of a delivery, for tests.
func shown(d *sessions.Delivery) string {
	if d.File != nil {
		return d.File.Name
	}
	return d.Text
}

func errorOf(err error) (*channels.Error, bool) { return errors.AsType[*channels.Error](err) }
