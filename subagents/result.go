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
	StatusStopped       = "stopped" // by a limit of its turn: what it says is not all
)

// maxText is how much of a child's words its parent reads, in bytes.
const maxText = 16 << 10

// turnFacts are the facts about a child's turn. They come from the store, never
// from what the child says.
type turnFacts struct {
	Status   string `json:"status"`
	Session  string `json:"child_session"`
	Turns    int    `json:"turns"` // model calls
	Calls    int    `json:"tool_calls"`
	Duration int64  `json:"duration_ms"`
	Cost     string `json:"cost_usd"` // of the child and all below it, so far
	Estimate bool   `json:"cost_is_estimate"`
}

// resultOf returns the result of a turn that has ended. It is read from the store alone,
// so that it is the same whenever it is asked for.
func (m *turnNode) resultOf(ctx context.Context, child sessions.Session, t sessions.Turn) (tools.Result, error) {
	c, done := commitContext(ctx)
	defer done()
	child, err := m.tree.runner.o.Store.Session(c, child.ID)
	if err != nil {
		return tools.Result{}, unfinishedError("read the sub-agent", err)
	}
	ms, err := m.tree.runner.o.Store.Messages(c, child.ID)
	if err != nil {
		return tools.Result{}, unfinishedError("read what the sub-agent said", err)
	}
	words, answers, calls := answerOf(ms, t.ID)
	head, err := json.Marshal(turnFacts{
		Status: statusText(t.Outcome), Session: string(child.ID), Turns: answers, Calls: calls,
		Duration: t.EndedAt.Sub(t.OpenedAt).Milliseconds(),
		Cost:     child.Subtree.String()[1:], Estimate: child.Held > 0 || child.Unpriced > 0,
	})
	if err != nil {
		return tools.Result{}, fmt.Errorf("write the figures: %w", err)
	}
	return tools.Result{Content: string(head) + "\n" + tools.FrameUntrusted("the sub-agent", tools.Truncate(words, maxText)), Metadata: string(head)}, nil
}

func statusText(r transcript.FinishReason) string {
	switch r {
	case transcript.EndTurn, transcript.Done, transcript.MaxTokens:
		return StatusOK
	case transcript.Stopped:
		return StatusStopped
	case transcript.Canceled:
		return StatusCanceled
	case transcript.Budget:
		return StatusBudget
	case transcript.MaxIterations:
		return StatusMaxIterations
	case transcript.TimedOut:
		return StatusTimeout
	default:
		return StatusError
	}
}
