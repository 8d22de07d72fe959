package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/gateway/activity"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/gateway/signals"
	"parley/sessions"
	"parley/transcript"
)

// applyControls carries out /stop: what waits is discarded, messages and questions for
// permission, and how much is said. A turn that ran has ended before.
func (a *actor) applyControls() (bool, error) {
	cs, err := a.w.Store.Controls(a.ctx, a.token)
	if err != nil {
		return false, fmt.Errorf("read control requests: %w", err)
	}
	if len(cs) == 0 {
		return a.release()
	}
	halted, err := a.wasStoppedBy(cs[0])
	if err != nil {
		return false, err
	}
	read := a.m.LastRead
	dropped := 0
	var ids []string
	var replies []sessions.Outgoing
	for _, c := range cs {
		var passed []broker.Envelope
		for c.Through > read {
			e, err := a.w.Log.NextAtLeast(a.ctx, a.token, read, c.Through)
			if errors.Is(err, broker.ErrNone) {
				break
			}
			if err != nil {
				return false, fmt.Errorf("count what is discarded: %w", err)
			}
			if e.Seq > c.Through {
				break
			}
			read = e.Seq
			passed = append(passed, e)
		}
		discarded, err := a.countDiscarded(passed)
		if err != nil {
			return false, err
		}
		dropped += discarded
		ids = append(ids, c.ID)
		replies = append(replies, a.answersToDeciders(passed)...)
		if c.Kind == sessions.KindShut { // nobody can be told
			continue
		}
		withdrawn, err := a.withdrawQuestions(c)
		if err != nil {
			return false, err
		}
		replies = append(replies, sessions.Outgoing{
			ID: stopNoteID(halted, c.ID).String(), Channel: c.Channel, Session: a.m.Session,
			To: c.From, ReplyTo: c.ReplyTo, Text: stoppedText(halted, discarded, withdrawn), At: a.w.Now(), MaybeDuplicate: c.Through > 0 && c.Through <= a.w.AmbiguousThrough,
		})
		halted = false
	}
	if err := a.w.Store.ApplyControls(a.ctx, a.m.Fence(), ids, read, replies); err != nil {
		return false, fmt.Errorf("end control requests: %w", err)
	}
	a.stopRequested = false
	if dropped > 0 {
		a.w.signal(signals.EventTopic, activity.Beside(agent.QueueDropped, a.w.Now(), a.m.Session, a.m.Key, activity.Payload{Status: activity.ByStop, Count: dropped}))
	}
	for _, r := range replies {
		a.w.signalOutbox(r.Channel)
	}
	return a.release()
}

// isStopRequested reports whether the store has a control request, of which no signal may have told.
// Who takes up messages asks when it has read them all: intake stores a request before it publishes
// what is said after it, which must have no part in what the request ends.
func (a *owner) isStopRequested(ctx context.Context) (bool, error) {
	m, err := a.w.Store.Mailbox(ctx, a.token)
	if err != nil {
		return false, fmt.Errorf("look for control requests: %w", err)
	}
	return m.Controls > 0, nil
}

// answersToDeciders returns what those read who have decided, in other chats, by messages that are
// discarded.
func (a *requests) answersToDeciders(discarded []broker.Envelope) (replies []sessions.Outgoing) {
	for _, e := range discarded {
		m, err := a.decode(e)
		if err != nil || m.Decision == nil || m.Decision.Operator {
			continue
		}
		replies = append(replies, sessions.Outgoing{
			ID: messages.ID{Kind: messages.Note, About: messages.EventID(m)}.String(), Channel: m.Channel, Session: a.m.Session,
			To: m.Decision.From, Text: stoppedThereText, At: a.w.Now(), MaybeDuplicate: e.Seq <= a.w.AmbiguousThrough,
		})
	}
	return replies
}

// withdrawQuestions withdraws what waits for permission in the conversation, and returns how many
// calls that is; also those that an earlier try with the same request has withdrawn.
func (a *requests) withdrawQuestions(c sessions.Control) (n int, err error) {
	now := a.w.Now()
	all, err := approvals.List(a.ctx, a.w.Store, a.token, now)
	if err = a.passUnreadable(err); err != nil {
		return 0, err
	}
	for _, r := range all {
		if r.Waits(now) {
			r, err = r.Withdraw(approvals.Person{ID: c.Sender}, c.ID, now).Write(a.ctx, a.w.Store, now)
			if errors.Is(err, sessions.ErrChanged) {
				return a.withdrawQuestions(c) // and see what became of it
			}
			if err != nil {
				return 0, err // it says which
			}
			a.w.Logger.Info("request for permission withdrawn", "session", r.Session, "tool", r.Call.Name, "by", c.Sender, "request", r.ID)
			a.signalDecided(r)
		}
		if r.State == approvals.Withdrawn && r.DecidedIn == c.ID {
			n++
		}
	}
	return n, nil
}

// wasStoppedBy reports whether a turn was ended by the request c, also when an earlier
// owner of the mailbox did so and got no further.
func (a *actor) wasStoppedBy(c sessions.Control) (bool, error) {
	if a.stopRequested || a.m.LastRead == 0 {
		return a.stopRequested, nil
	}
	t, err := a.lastTurn()
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the last turn: %w", err)
	}
	return t.Outcome == transcript.Canceled && !t.EndedAt.Before(c.At.Truncate(time.Microsecond)), nil
}

// lastTurn returns the turn that took, or was joined by, the message that was read
// last, or ErrNotFound.
func (a *owner) lastTurn() (sessions.Turn, error) {
	m := a.m
	m.Turn = nil
	return latestTurn(a.ctx, a.w.Store, a.w.Generation, m)
}

// stopNoteID names the answer to a request to stop.
func stopNoteID(ran bool, request string) messages.ID {
	if ran {
		return messages.ID{Kind: messages.Stopped, About: request}
	}
	return messages.ID{Kind: messages.Note, About: request}
}

func stoppedText(ran bool, discarded, withdrawn int) string {
	text := "Nothing was running."
	if ran {
		text = "Stopped."
	}
	switch discarded {
	case 0:
	case 1:
		text += " One waiting message was dropped."
	default:
		text += fmt.Sprintf(" %d waiting messages were dropped.", discarded)
	}
	switch withdrawn {
	case 0:
	case 1:
		text += " My question for permission is withdrawn."
	default:
		text += fmt.Sprintf(" My %d questions for permission are withdrawn.", withdrawn)
	}
	return text
}
