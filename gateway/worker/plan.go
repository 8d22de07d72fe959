package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/plans"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// Answers to /plan.
const (
	planOffText   = "Plan mode is over: from your next message on I may change things again."
	planIsOffText = "Plan mode is not on."
	planIsOnText  = "Plan mode is on already."
)

// switchPlan carries out /plan: without words it begins plan mode or ends it. (AI04)
func (a *commands) switchPlan(e broker.Envelope, msg channels.Message, c messages.Command) (bool, error) {
	change := sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}
	before, unread := plans.Read(a.ctx, a.w.Store, a.m.Session, a.w.Now())
	if err := a.passUnreadable(unread); err != nil {
		return false, err
	}
	on := !before.On
	switch strings.ToLower(c.Args) {
	case "":
	case "on":
		on = true
	case "off":
		on = false
	default:
		return a.answer(change, e.Seq, msg, fmt.Sprintf("%s begins plan mode and ends it again; behind it stands nothing, or on or off. What you want goes into a message of its own.", a.typed("plan")))
	}
	switch {
	case on != before.On || unread != nil:
	case on:
		return a.answer(change, e.Seq, msg, planIsOnText)
	default:
		return a.answer(change, e.Seq, msg, planIsOffText)
	}
	s, err := a.w.Store.Session(a.ctx, a.m.Session)
	if err != nil {
		return false, fmt.Errorf("look at the session of a plan: %w", err)
	}
	r, err := before.Switch(on, s.Messages == 0).Record(a.m.Session, a.w.Now())
	if err != nil {
		return false, err
	}
	change.Records = []sessions.Record{r}
	text := planOffText
	if on {
		text = fmt.Sprintf("Plan mode is on: from your next message on I look around and propose, but change nothing. %s ends it.", a.typed("plan"))
	}
	return a.answer(change, e.Seq, msg, text)
}

// inPlanMode reports whether a session is in plan mode. What is damaged stops no turn, but lets
// none change anything; a store that does not answer is asked again, with the whole turn, which
// otherwise would be without the tools for which somebody has just given permission.
func (a *owner) inPlanMode(ctx context.Context, id sessionkeys.SessionID) (bool, error) {
	mode, err := plans.Read(ctx, a.w.Store, id, a.w.Now())
	if errors.Is(err, records.ErrUnreadable) {
		a.w.Logger.Warn("plan mode unreadable, taken as on", "session", id, "key", a.m.Key, "error", err)
		err = nil
	}
	return mode.On, err // it says of which session
}

// planNote says, behind the answer to a command that leads to another session, what becomes of
// plan mode by it.
func (a *commands) planNote(to sessionkeys.SessionID) (string, error) {
	was, err := a.inPlanMode(a.ctx, a.m.Session)
	if err != nil {
		return "", err
	}
	is, err := a.inPlanMode(a.ctx, to)
	switch {
	case err != nil:
		return "", err
	case is:
		return fmt.Sprintf(" Plan mode is on here: %s ends it.", a.typed("plan")), nil
	case was:
		return " Plan mode ended with the one before.", nil
	}
	return "", nil
}
