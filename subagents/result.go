package subagents

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/sessions"
	"parley/tools"
	"parley/transcript"
)

// How a child's turn ended, as its parent reads it.
const (
	StatusOK            = "ok"
	StatusError         = "error"
	StatusTimeout       = "timeout"
	StatusCanceled      = "canceled"
	StatusBudget        = "budget"
	StatusMaxIterations = "max_iterations"
)

// mostText is how much of a child's words its parent reads, in bytes.
const mostText = 16 << 10

// figures are the facts about a child's turn. They come from the store, never
// from what the child says.
type figures struct {
	Status   string `json:"status"`
	Session  string `json:"child_session"`
	Turns    int    `json:"turns"` // model calls
	Calls    int    `json:"tool_calls"`
	Duration int64  `json:"duration_ms"`
	Cost     string `json:"cost_usd"` // of the child and all below it, so far
	Estimate bool   `json:"cost_is_estimate"`
}

// told is the result of a turn that has ended. It is read from the store alone,
// so that it is the same whenever it is asked for.
func (m *member) told(ctx context.Context, child sessions.Session, t sessions.Turn) (tools.Result, error) {
	c, done := commit(ctx)
	defer done()
	child, err := m.f.r.o.Store.Session(c, child.ID)
	if err != nil {
		return tools.Result{}, unfinished("read the sub-agent", err)
	}
	ms, err := m.f.r.o.Store.Messages(c, child.ID)
	if err != nil {
		return tools.Result{}, unfinished("read what the sub-agent said", err)
	}
	words, answers, calls := said(ms, t.ID)
	head, err := json.Marshal(figures{
		Status: status(t.Outcome), Session: string(child.ID), Turns: answers, Calls: calls,
		Duration: t.EndedAt.Sub(t.OpenedAt).Milliseconds(),
		Cost:     child.Subtree.String()[1:], Estimate: child.Held > 0 || child.Unpriced > 0,
	})
	if err != nil {
		return tools.Result{}, fmt.Errorf("write the figures: %w", err)
	}
	return tools.Result{Content: string(head) + "\n" + tools.Untrusted("the sub-agent", tools.Limit(words, mostText)), Metadata: string(head)}, nil
}

func status(r transcript.FinishReason) string {
	switch r {
	case transcript.EndTurn, transcript.Done, transcript.MaxTokens, transcript.Stopped:
		return StatusOK
	case transcript.Canceled:
		return StatusCanceled
	case transcript.Budget:
		return StatusBudget
	case transcript.MaxIterations:
		return StatusMaxIterations
	case timedOut:
		return StatusTimeout
	default:
		return StatusError
	}
}
