package replay

import (
	"context"
	"maps"

	"parley/agent"
	"parley/costs"
	"parley/gateway/recording"
	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// firstTry returns the first try of the call of a tool that c is one of; another call as it is.
func firstTry(c costs.CallID) costs.CallID {
	if c.Purpose == costs.Tool {
		c.Attempt = costs.ToolAttempt(c.ToolIndex(), 1)
	}
	return c
}

// wasCutOff reports whether nobody knows how a call of a tool ended.
func wasCutOff(e costs.Entry) bool { return e.Outcome == outcomeInterrupted }

// withToolsTriedOnce returns a recording in which each call of a tool that cost something has
// one row, of its first try: a process that dies between two model calls does not die in the
// replay, and no tool runs there that could be cut off.
func withToolsTriedOnce(r *recording.Recording) *recording.Recording {
	c := *r
	c.Costs = maps.Clone(r.Costs)
	for id, e := range r.Costs {
		if e.Call.Purpose != costs.Tool {
			continue
		}
		delete(c.Costs, id)
	}
	for _, e := range r.Costs {
		if e.Call.Purpose != costs.Tool || wasCutOff(e) {
			continue
		}
		e.Call = firstTry(e.Call)
		e.ID = e.Call.String()
		if other, ok := c.Costs[e.ID]; !ok || e.At.After(other.At) { // the result of an earlier one was lost
			c.Costs[e.ID] = e
		}
	}
	return &c
}

// reserveTool reserves what a call of a tool costs, if it cost something. One that the budgets
// refused has its recorded result, or pauses the turn as it did.
func (l *workerRun) reserveTool(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	call := r.Estimate.Call
	if _, ok := l.s.script.r.Costs[firstTry(call).String()]; ok {
		return l.Store.Reserve(ctx, f, c, r) // as the store says it
	}
	if t := l.s.script.turns[call.Turn]; t != nil && t.Refused != nil && l.s.script.waitsForBudget(call) {
		e := *t.Refused
		return &e
	}
	l.unbooked.Store(r.ID, nil)
	return nil
}

// wasUnpaid reports whether a call of a tool that has a price cost nothing.
func (s *script) wasUnpaid(c tools.Call) bool {
	for text, m := range s.messages {
		id, ok := transcript.ParseMessageID(text)
		if !ok || id.Kind != transcript.Result || id.Turn != c.Turn || id.Step != c.Step {
			continue
		}
		for _, r := range m.Results() {
			call := costs.CallID{Turn: c.Turn, Step: c.Step, Attempt: costs.ToolAttempt(id.Index, 1), Purpose: costs.Tool}
			if e, ok := s.r.Costs[call.String()]; ok && r.ToolCallID == c.ID {
				return e.State == costs.Settled && e.Amount == 0
			}
		}
	}
	return false
}

// waitsForBudget reports whether the turn ended at a call of a tool that a budget refused.
func (s *script) waitsForBudget(c costs.CallID) bool {
	id := transcript.MessageID{Turn: c.Turn, Kind: transcript.Result, Step: c.Step, Index: c.ToolIndex()}
	for _, r := range s.messages[id.String()].Results() {
		if agent.WaitsForBudget(r.Content) {
			return true
		}
	}
	return false
}
