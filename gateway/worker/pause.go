package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// explainer says to a person why a call was refused, as [agent.Loop.Why] does.
type explainer func(sessionkeys.Key, *costs.BudgetError) string

// asksForMore returns what asks people at the end of a budget, as the turn's loop does; nil: nobody
// is asked in this turn. A job's run asks nobody, and a sub-agent's turn has a loop of its own.
func (j *journal) asksForMore(why explainer) func(context.Context, *costs.BudgetError) (string, error) {
	if j.job != nil || !j.a.settings.Limits.Pause.Offers() {
		return nil
	}
	return func(ctx context.Context, e *costs.BudgetError) (string, error) { return j.askForMore(ctx, e, why) }
}

// askForMore makes the request that the end of the turn will write, and the question; "" where a
// raise is not offered, would not be enough, or is asked for in this conversation already, and where
// nobody may decide.
func (j *journal) askForMore(ctx context.Context, e *costs.BudgetError, why explainer) (string, error) {
	a, limits := j.a, j.a.settings.Limits
	s, ok := limits.ScopeOf(e, j.t)
	amount := limits.Pause.Amount(e.Scope, e.Window)
	if !ok || e.Unpriced || amount == 0 || !isEnough(e, amount) {
		return "", nil
	}
	if some, err := j.rights.namesApprover(ctx, j.t.Channel); err != nil || !some {
		return "", err
	}
	now := a.w.Now()
	all, err := approvals.List(ctx, a.w.Store, a.token, now)
	if err = a.passUnreadable(err); err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(r approvals.Request) bool {
		return r.Raise != nil && r.Raise.IsOf(s) && r.Session == j.t.Session && r.Waits(now)
	}) {
		return "", nil
	}
	opener, err := a.opener(j.t)
	if err != nil {
		return "", err
	}
	r, err := j.newRequest(ctx, opener.Sender)
	if err != nil {
		return "", err
	}
	r.Shown = budgets.Describe(e)
	r.Raise = approvals.NewRaise(s, budgets.KeyOf(e.Scope, e.Window), amount, limits.Pause.For)
	j.asked = &r
	text := e.Error()
	if why != nil {
		text = why(a.m.Key, e)
	}
	return j.pose(r, r.RaiseQuestion(text, j.decidedHere, a.typed)), nil
}

// isEnough reports whether a budget that is raised by amount allows what it has refused.
func isEnough(e *costs.BudgetError, amount costs.Amount) bool {
	need, err := e.Spent.Add(e.Need)
	limit, wrong := e.Limit.Add(amount)
	return err == nil && wrong == nil && need <= limit
}

// raise adds to the limits of scopes what they are raised by at that time: by the operator; and by
// approvers, as long as the operator lets them and they may still decide.
func (j *journal) raise(ctx context.Context, scopes []sessions.Scope, at time.Time) ([]sessions.Scope, error) {
	a, pause := j.a, j.a.settings.Limits.Pause
	if !slices.ContainsFunc(scopes, isRaisable) {
		return scopes, nil
	}
	if !pause.Offers() {
		may, err := approvals.HasUnasked(ctx, a.w.Store, at)
		if err != nil || !may {
			return scopes, err // it says what was read
		}
	}
	raises, err := approvals.Raises(ctx, a.w.Store, at)
	if err = a.passUnreadable(err); err != nil {
		return nil, err
	}
	for i, s := range scopes {
		if !isRaisable(s) {
			continue
		}
		offered := pause.Amount(s.Kind, s.Window) > 0
		more, err := approvals.More(raises, s, offered, func(r approvals.Request) (bool, error) { return j.rights.approves(ctx, r.Channel, senderOf(r.By)) })
		if err != nil {
			return nil, err // it says what was added up, or looked up
		}
		if scopes[i].Limit, err = s.Limit.Add(more); err != nil {
			return nil, fmt.Errorf("raise the budget of the %s: %w", s.Kind, err)
		}
	}
	return scopes, nil
}

// isRaisable reports whether a scope has a limit that can be raised.
func isRaisable(s sessions.Scope) bool { return s.Limit > 0 && budgets.KeyOf(s.Kind, s.Window) != "" }

// leaveBudget ends the request for a higher budget that was refused, in one commit with what is
// said of it: no turn follows.
func (a *actor) leaveBudget(change sessions.Command, seq uint64, msg channels.Message, r approvals.Request) (bool, error) {
	rec, err := r.Record(a.w.Now())
	if err != nil {
		return false, err // it says which
	}
	change.Records = []sessions.Record{rec}
	change.Replies = []sessions.Outgoing{a.reply(seq, msg, messages.Note, r.Left())}
	if d := msg.Decision; d != nil && !d.Operator {
		msg.Address, msg.MessageID = d.From, ""
		change.Replies = append(change.Replies, a.reply(seq, msg, messages.Decided, r.Done()))
	}
	released, err := a.commitAnswer(change, msg.Channel)
	if errors.Is(err, sessions.ErrChanged) {
		return a.takeNext() // and see what became of it
	}
	if err == nil {
		a.noteDecided(r)
	}
	return released, err
}
