package worker

import (
	"errors"
	"fmt"
	"slices"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
	"parley/sessions"
	"parley/transcript"
)

const gaveUpText = "I could not handle that message: it failed every time I tried. It was put aside for the operator."

// giveUp sends a message that was taken up too often, without a turn ever being
// opened, to the dead letters with all that would have been one with it, and
// tells who sent it, once. When finding that out fails too, the head goes alone.
func (a *actor) giveUp(head item) (bool, error) {
	b := selectBatch([]item{head}, nil, policy.Waiting{})
	if a.m.Attempts == a.attempts()+1 {
		var err error
		b, _, err = a.gather(a.ctx, true, a.woken)
		if errors.Is(err, errPoked) {
			return a.release()
		}
		if err != nil {
			return false, err
		}
	}
	known, err := a.w.Store.Known(a.ctx, b.events...)
	if err != nil {
		return false, fmt.Errorf("look which messages are given up: %w", err)
	}
	var fresh []sessions.InboxID
	for i, e := range b.events {
		if !known[i] {
			fresh = append(fresh, e)
		}
	}
	if known[0] { // the head was ended before; what else there is comes next
		a.w.Observer.CountDuplicate(head.msg.Channel, "message_id")
		return a.skip(head.e.Seq)
	}
	problem := fmt.Sprintf("taken up %d times without an end", a.m.Attempts-1)
	if err := a.deadLetterAll(a.lookahead, fresh, head.msg.Channel, problem); err != nil {
		return false, err
	}
	lead, ok := b.mention()
	if !ok { // nobody expects an answer
		return a.skip(b.through)
	}
	return a.answer(sessions.Command{Seq: b.through, Event: fresh[0], With: fresh[1:]}, head.e.Seq, lead, gaveUpText)
}

func (a *deadLetters) deadLetter(e broker.Envelope, channel, reason, problem string) error {
	if err := a.w.Log.DeadLetter(a.ctx, broker.DeadLetter{
		ID: e.ID, Reason: reason, Channel: channel, Key: e.Key, Problem: problem, Body: e.Body, At: a.w.Now(),
	}); err != nil {
		return fmt.Errorf("keep a dead letter: %w", err)
	}
	a.w.Observer.CountDeadLetter(channel, reason)
	a.w.Logger.Warn("message moved to the dead letters", "channel", channel, "session", a.m.Session, "letter", e.ID, "reason", reason, "problem", problem)
	return nil
}

// abandon ends a turn that was taken up too often: its message goes to the
// dead letters, the person is told once.
func (a *actor) abandon(t sessions.Turn, j *journal) (bool, error) {
	defer a.showOutcome(t, channels.Idle)
	problem := fmt.Sprintf("its turn was taken up %d times without an end", t.Attempts-1)
	if err := a.deadLetterTurn(t, problem); err != nil {
		return false, err
	}
	out := agent.Outcome{Finish: transcript.Failed, Text: gaveUpText, Err: errors.New(problem), Steps: t.Steps, Priced: true}
	if err := j.Finish(a.ctx, nil, out); err != nil {
		return false, err
	}
	ag, _ := a.chosenAgent(a.ctx) // which may be configured no more: then the line names no model
	a.reportOutcome(t, ag, out, usageTally{}, j.totalCost(out))
	return a.adoptFinished(j)
}

// deadLetterTurn gives the messages of a turn to the dead letters, with those that
// joined it. What the log has no more, or was in another log, is gone.
func (a *deadLetters) deadLetterTurn(t sessions.Turn, problem string) error {
	if a.turnID(t.Seq) != t.ID {
		return nil
	}
	for _, seq := range append([]uint64{t.Seq}, t.Joined...) {
		if err := a.deadLetterAt(seq, t.Channel, problem); err != nil {
			return err
		}
	}
	return nil
}

// deadLetterAt gives message seq, which was taken up, to the dead letters, with what
// was taken as one with it.
func (a *deadLetters) deadLetterAt(seq uint64, channel, problem string) error {
	var items []item
	for after := seq - 1; len(items) < maxAhead; {
		e, err := a.w.Log.NextAtLeast(a.ctx, a.token, after, seq)
		if errors.Is(err, broker.ErrNone) || err == nil && len(items) == 0 && e.Seq != seq {
			break
		}
		if err != nil {
			return fmt.Errorf("read the messages of a turn: %w", err)
		}
		msg, err := a.decode(e)
		items = append(items, item{e, msg, err})
		after = e.Seq
	}
	if len(items) == 0 {
		return nil
	}
	b := selectBatch(items, nil, a.settings.rules(channel))
	known, err := a.w.Store.Known(a.ctx, b.events...)
	if err != nil {
		return fmt.Errorf("look which messages the turn is of: %w", err)
	}
	var of []sessions.InboxID
	for i, e := range b.events {
		if known[i] {
			of = append(of, e)
		}
	}
	return a.deadLetterAll(items, of, channel, problem)
}

// deadLetterAll gives those of the items that are of these events to the dead letters.
func (a *deadLetters) deadLetterAll(items []item, events []sessions.InboxID, channel, problem string) error {
	for _, it := range items {
		if it.err != nil || !slices.Contains(events, messages.Inbox(it.msg)) {
			continue
		}
		if err := a.deadLetter(it.e, channel, "attempts", problem); err != nil {
			return err
		}
	}
	return nil
}
