package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/channels"
	"parley/faultpoint"
	"parley/sessions"
)

// attempt brings one delivery as far as it gets: it moves its parts from state to
// state, each in the store first.
type attempt struct {
	*account
	previews *previews
	running  func() context.Context // its end begins the grace period
	d        *sessions.Delivery
	// takeUnsent returns when this process marked a delivery of which it has sent nothing
	// since: found with that mark it is sent, once, as if the mark had just been made.
	takeUnsent func(id string) time.Time
	at         destination
	release    func() // gives back the room that was booked for what is sent next; nil: none was
	place      place
	started    time.Time
}

// errTaken ends an attempt at a delivery that another attempt has advanced.
var errTaken = errors.New("delivery taken over by another attempt")

// errDropped ends an attempt at a delivery whose chat is closed to the bot.
var errDropped = errors.New("the chat is closed to the bot")

// run brings the delivery to its end, or returns an error and leaves it to the
// next scan.
func (a *attempt) run(ctx context.Context) (err error) {
	a.started = a.Now()
	if a.at, err = a.locate(ctx, a.d.To); err != nil {
		return err
	}
	if a.at.chat.Closed {
		return a.drop(ctx)
	}
	if len(a.d.Parts) == 0 {
		if err := a.awaitPace(ctx, 0); err != nil {
			return err
		}
		if err := a.prepare(ctx); err != nil {
			return err
		}
	}
	for i := range a.d.Parts {
		if err := a.deliverPart(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Outcome is how an attempt at a delivery ended.
type Outcome string

// How attempts end.
const (
	Delivered Outcome = "ok"        // the network has taken all of it
	Repeated  Outcome = "ambiguous" // some of it may be there twice, or not at all
	Rejected  Outcome = "rejected"  // the network does not take it, or not all of it
	Dropped   Outcome = "dropped"   // the chat is closed to the bot
	Overtaken Outcome = "overtaken" // another attempt is further with it
	Postponed Outcome = "postponed" // another attempt follows
)

// outcome returns how the attempt ended, when run returned err.
func (a *attempt) outcome(err error) Outcome {
	switch {
	case errors.Is(err, errDropped):
		return Dropped
	case errors.Is(err, errTaken):
		return Overtaken
	case err != nil:
		return Postponed
	}
	how := Delivered
	for _, p := range a.d.Parts {
		switch {
		case p.State == sessions.Failed && !p.IsUnneeded() && p.Reason != sessions.Unconfirmed:
			return Rejected
		case p.Repeats > 0:
			how = Repeated
		}
	}
	return how
}

// conclude tells of the delivery's end, when err of run says that it came.
func (a *attempt) conclude(ctx context.Context, err error) {
	switch {
	case err == nil, errors.Is(err, errDropped):
		a.forgetFile(ctx)
		if a.Delivered != nil {
			a.Delivered(*a.d)
		}
	case errors.Is(err, errTaken):
		if a.d.File != nil && a.isFinished(ctx) {
			a.forgetFile(ctx)
		}
	case errors.Is(err, errEnding), ctx.Err() != nil:
	default:
		a.Logger.Error("delivery left in the outbox", "channel", a.name, "delivery", a.d.ID, "error", err)
	}
}

// prepare renders the text and stores the parts, the first already marked.
func (a *attempt) prepare(ctx context.Context) error {
	d := a.d
	p, err := a.compose()
	if err != nil {
		return err
	}
	if len(p.Bodies) == 0 {
		if d.Turn != "" {
			if err := a.previews.endStream(ctx, d.Turn, askedAt(d), a.at); err != nil {
				a.Logger.Debug("preview not ended", "channel", a.name, "error", err)
			}
		}
		a.Observer.CountSent(a.name, "dropped", 0)
		return a.Store.Advance(ctx, d.ID, sessions.Progress{Close: true})
	}
	if err := a.Store.Advance(ctx, d.ID, p); err != nil {
		if errors.Is(err, sessions.ErrFenced) || errors.Is(err, sessions.ErrNotFound) { // it has no parts any more
			return errTaken
		}
		return fmt.Errorf("store the parts: %w", err)
	}
	a.applyMarks(p.Marks)
	return nil
}

// compose renders the text into parts, and returns how they begin; without Bodies when there is
// nothing to show.
func (a *attempt) compose() (p sessions.Progress, err error) {
	d := a.d
	var bodies []storedBody
	if d.File != nil {
		bodies = a.fileBodies()
	} else {
		bodies = a.boundParts(a.render(d.Text, len(d.Choices) > 0))
		if n := len(bodies); n > 0 {
			bodies[n-1].Choices = choicesOf(d.Choices)
		}
	}
	if len(bodies) == 0 {
		return p, nil
	}
	for _, b := range bodies {
		raw, err := json.Marshal(b)
		if err != nil {
			return p, fmt.Errorf("store a rendered message: %w", err)
		}
		p.Bodies = append(p.Bodies, raw)
		d.Parts = append(d.Parts, sessions.Part{Body: raw, State: sessions.Queued})
	}
	p.Marks = []sessions.Mark{a.sendingMark(0)}
	return p, nil
}

func choicesOf(all []sessions.Choice) (cs []channels.Choice) {
	for _, c := range all {
		cs = append(cs, channels.Choice(c))
	}
	return cs
}

// drop ends a delivery that was queued for a chat after it was shut.
func (a *attempt) drop(ctx context.Context) error {
	d := a.d
	var p sessions.Progress
	if len(d.Parts) == 0 { // one part, never sent, says why
		p.Bodies, d.Parts = [][]byte{{}}, []sessions.Part{{State: sessions.Queued}}
	}
	for i, part := range d.Parts {
		if part.State == sessions.Sent || part.State == sessions.Failed {
			continue
		}
		from := part.State
		if from == marked {
			from = sessions.Sending
		}
		p.Marks = append(p.Marks, a.newMark(i, from, sessions.Failed, errDropped.Error()))
	}
	err := a.Store.Advance(ctx, d.ID, p)
	if errors.Is(err, sessions.ErrFenced) || errors.Is(err, sessions.ErrNotFound) {
		return errTaken // it was dropped when the chat was shut
	}
	if err != nil {
		return fmt.Errorf("drop an answer: %w", err)
	}
	a.Observer.CountSent(a.name, "dropped", 0)
	return errDropped
}

// deliverPart brings a part to Sent or Failed.
func (a *attempt) deliverPart(ctx context.Context, i int) error {
	p := &a.d.Parts[i]
	moved, looked, looks, doubts := false, false, 0, 0
	// Whether a doubt that was found here may be about a call that another process still makes.
	foreign := p.State == sessions.Ambiguous || p.State == sessions.Sending && p.By != a.me
	for try := 1; ; try++ {
		switch p.State {
		case sessions.Sent, sessions.Failed:
			return nil
		case sessions.Ambiguous:
			if looked {
				break
			}
			looked = true // once for each doubt
			looks++
			if err := a.resolveAmbiguous(ctx, i, foreign || looks > maxLooks, doubts); err != nil {
				return err
			}
			if p.State != sessions.Ambiguous {
				continue
			}
		case sessions.Sending:
			if i == 0 && p.By == a.me && p.At.Equal(a.takeUnsent(a.d.ID)) {
				p.State = marked
				continue
			}
			if err := a.markAmbiguous(ctx, i, "the process that sent it ended before the answer came"); err != nil {
				return err
			}
			continue
		}
		if p.State != marked {
			if err := a.awaitPace(ctx, i); err != nil {
				return err
			}
			if err := a.advance(ctx, a.sendingMark(i)); err != nil {
				return err
			}
		}
		if i == 0 {
			a.takeUnsent(a.d.ID) // from here on something may have been sent
		}
		began := a.Now()
		looked = false
		faultpoint.HitOn("delivery.marked", visibleText(a.d))
		receipt, err := a.send(ctx, i, try)
		a.releaseRoom()
		if err == nil {
			faultpoint.HitOn("delivery.accepted", visibleText(a.d)) // by the network; nothing here says so yet
			return a.recordSent(ctx, i, receipt)
		}
		ce, known := asChannelError(err)
		if !known {
			ce = &channels.Error{Kind: channels.Ambiguous, Op: "send", Err: err}
		}
		switch {
		case ce.Kind == channels.Ambiguous:
			doubts++
		case ce.Kind == channels.Moved && ce.MovedTo != "" && !moved:
			moved = true
			if err := a.followMove(ctx, &a.at, ce.MovedTo); err != nil {
				return err
			}
			continue
		case ce.Kind == channels.Gone:
			gone, err := a.closeChat(ctx, a.d.To, a.d.ID, began)
			if err != nil {
				return err
			}
			if gone {
				return errDropped
			}
		}
		if err := a.decideFailure(ctx, i, ce, try); err != nil {
			return err
		}
	}
}
