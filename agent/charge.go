package agent

import (
	"context"
	"errors"
	"fmt"

	"parley/costs"
	"parley/faultpoint"
	"parley/tools"
	"parley/transcript"
)

// unknownOutcome is the Entry.Outcome of a tool call whose end is not known. The store uses the
// same word for calls that were never settled.
const unknownOutcome = "interrupted"

// holdPrice reserves the price of a tool call that was allowed and has begun; nil: the tool has
// no price. A call that a budget refuses is returned with its result, which tells the model so:
// the turn goes on, because the model may do without. Where Loop.Pause has a question for people,
// the call waits for them instead.
func (r *toolRunner) holdPrice(ctx context.Context, b batch, c call, tool tools.Tool, price costs.Amount) (*costs.Reservation, *preparedCall, error) {
	if price == 0 {
		return nil, nil, nil
	}
	name := tool.Definition().Name
	commit, done := r.commitContext(ctx)
	defer done()
	held, err := r.Journal.ReserveTool(commit, costs.Estimate{
		Call:   costs.CallID{Turn: r.turn.ID, Step: b.step, Purpose: costs.Tool},
		Labels: costs.Labels{Provider: costs.ToolProvider, Model: name, Channel: r.turn.Channel, Purpose: costs.Tool},
		Upper:  price, Priced: true,
	}, c.index)
	if e, ok := errors.AsType[*costs.BudgetError](err); ok {
		refused := *e
		refused.Tool = name
		p, err := r.refusePrice(ctx, b, c, price, &refused)
		return nil, p, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reserve a call of tool %s: %w", c.Name, err)
	}
	faultpoint.HitOn("agent.tool.reserved", c.Name)
	return &held, nil, nil
}

// refusePrice returns a call that the budgets refuse.
func (r *toolRunner) refusePrice(ctx context.Context, b batch, c call, price costs.Amount, refused *costs.BudgetError) (*preparedCall, error) {
	r.log.Info("call of a tool refused by a budget", "tool", c.Name, "price_usd", price, "scope", refused.Scope, "limit_usd", refused.Limit, "spent_usd", refused.Spent)
	r.emit(Event{Type: BudgetExceeded, Step: b.step, CallID: c.ID, Tool: c.Name, Err: refused})
	why := r.Why(r.turn.Key, refused)
	if r.Pause != nil {
		ask, err := r.Pause(ctx, refused)
		if err != nil {
			return nil, fmt.Errorf("ask for a higher budget: %w", err)
		}
		if ask != "" {
			f := r.refuseCall(b, c, fmt.Sprintf(resultUnpaidAsked, why), StatusWaiting)
			return &preparedCall{ready: f, ask: ask, refused: refused}, nil
		}
	}
	return &preparedCall{ready: r.refuseCall(b, c, fmt.Sprintf(resultUnpaid, why), StatusDenied)}, nil
}

// commitResult commits what a call gave, together with what it costs.
func (r *toolRunner) commitResult(ctx context.Context, held *costs.Reservation, f *finishedCall) error {
	if held != nil {
		return r.settleCall(ctx, held, f, f.message)
	}
	commit, done := r.commitContext(ctx)
	defer done()
	return r.Journal.Append(commit, f.message)
}

// settleCall books what a call costs, if it has a price. f is nil when nobody knows what
// became of it.
func (r *toolRunner) settleCall(ctx context.Context, held *costs.Reservation, f *finishedCall, ms ...transcript.Message) error {
	if held == nil {
		return nil
	}
	commit, done := r.commitContext(ctx)
	defer done()
	s := costs.Settlement{Reservation: *held, Entry: r.callEntry(*held, f)}
	if err := r.Journal.Settle(commit, s, ms...); err != nil {
		return fmt.Errorf("book a call of tool %s: %w", held.Estimate.Labels.Model, err)
	}
	faultpoint.HitOn("agent.tool.settled", held.Estimate.Labels.Model)
	r.cost += s.Entry.Amount
	return nil
}

// callEntry returns the ledger's row of a call of a tool: its price, if it gave a result. Of
// one that failed or broke off nobody knows whether it is charged, unless its tool does. So
// it books nothing, and its price stays held. (docs/decisions/0044)
func (r *toolRunner) callEntry(held costs.Reservation, f *finishedCall) costs.Entry {
	price := held.Estimate.Upper
	e := costs.Entry{
		ID: held.ID, Call: held.Estimate.Call, Labels: held.Estimate.Labels,
		Price: costs.ToolPrice(held.Estimate.Labels.Model, price), Priced: true,
		State: costs.Settled, Outcome: okOutcome, At: r.Now(), Usage: costs.Usage{Source: costs.Reported},
	}
	switch {
	case f != nil && f.unpaid:
		e.Outcome = f.status
		return e
	case f != nil && f.status == StatusOK:
		e.Amount, e.Usage.ServerTools = price, map[string]int64{costs.ToolUse: 1}
		return e
	case f != nil:
		e.Outcome = f.status
	default:
		e.Outcome = unknownOutcome
	}
	e.State, e.Upper, e.Usage.Source = costs.Interrupted, price, costs.Estimated
	return e
}
