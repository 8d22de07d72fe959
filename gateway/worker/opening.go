package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parley/faultpoint"
	"parley/sessions"
)

// opening is a turn that is to be opened: by the commit of its first reservation, or by
// whichever comes first. Until then it has left nothing behind, and the mailbox stands as it
// was taken.
type opening struct {
	a      *actor
	q      question
	o      sessions.OpenTurn
	j      *journal
	title  func() // looks after the session's title as soon as the turn is open; nil: nobody does
	opened bool

	ahead []item // of the mailbox, and
	read  uint64 // how far it was read: without the turn
}

// isOpen reports whether the turn is in the store.
func (j *journal) isOpen() bool { return j.opening == nil || j.opening.opened }

// unopenedError means that a turn was not opened, and never will be.
type unopenedError struct {
	known []sessions.InboxID // events that a turn or a command had before; nil: all of them
}

func (e *unopenedError) Error() string { return "turn not opened: its messages were answered before" }

// runOpening runs the turn of o, which answers q. A message that was answered before opens
// none.
func (a *actor) runOpening(q question, o sessions.OpenTurn) (bool, error) {
	t := o.Turn
	t.Token, t.Session, t.Attempts, t.State = a.token, a.m.Session, max(1, a.m.Attempts), sessions.Open
	j, err := a.journal(t)
	if err != nil {
		return false, err
	}
	j.asker = &q.items[0].msg.Sender
	op := &opening{a: a, q: q, o: o, j: j, ahead: slices.Clone(a.lookahead), read: a.m.LastRead}
	j.opening = op
	if a.w.Handoff != nil { // nobody has shown anything of it yet
		j.handoff = a.w.Handoff(t.Channel)
	}
	j.SetOpening(o.Message, op.commit)
	j.recall(o.Message)
	a.m.LastRead = max(a.m.LastRead, o.Through, t.Seq)
	released, err := a.runTurn(t, j, false)
	if op.opened || err == nil {
		return released, err
	}
	a.m.LastRead, a.lookahead = op.read, op.ahead
	never, ok := errors.AsType[*unopenedError](err)
	switch {
	case !ok:
		return false, err
	case never.known != nil:
		return a.dropKnown(never.known, q.items[0].msg)
	}
	a.countDuplicates(t.Channel, "message_id", len(q.items))
	return a.release()
}

// commit opens the turn, with its first call when it is given one. It is what the journal calls.
func (p *opening) commit(ctx context.Context, call *sessions.OpeningCall) error {
	a, o := p.a, p.o
	o.Call = call
	faultpoint.HitOn("worker.open.before", p.q.text())
	t, opened, err := a.w.Store.Open(ctx, p.j.Fence, o)
	if ke, ok := errors.AsType[*sessions.KnownError](err); ok {
		return &unopenedError{known: ke.Events}
	}
	if err != nil {
		return fmt.Errorf("open a turn: %w", err)
	}
	if !opened {
		return &unopenedError{}
	}
	faultpoint.HitOn("worker.open.after", p.q.text())
	p.opened = true
	a.countDuplicates(t.Channel, "edit", p.q.edits)
	a.w.Observer.TurnStarted(t.Channel, t.OpenedAt.Sub(t.ReceivedAt))
	a.showWorking(t, p.q.leadIDs())
	if p.title != nil {
		p.title()
	}
	return nil
}
