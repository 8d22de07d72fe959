package subagents

import (
	"errors"
	"fmt"

	"parley/agent"
	"parley/tools"
)

// Why a task is not handed on. They reach the model as a tool's error, in a
// sentence; nothing was stored.
var (
	// ErrDepth: no child may stand below this one.
	ErrDepth = errors.New("no sub-agent can be started from here")
	// ErrDenied: the operator does not allow it.
	ErrDenied = errors.New("that is not allowed")
	// ErrSpawns: the person's message has led to as many children as it may.
	ErrSpawns = errors.New("this request has started as many sub-agents as it may")
	// ErrChildren: the turn has as many children as it may.
	ErrChildren = errors.New("this turn has started as many sub-agents as it may")
	// ErrConcurrency: all slots were busy for as long as the child might take.
	ErrConcurrency = errors.New("too many sub-agents run at the moment")
	// ErrBudget: the money that the child may spend is used up.
	ErrBudget = errors.New("the budget for sub-agents is used up")
)

// ErrTimeout is the cause with which a child's context ends when it took longer
// than it may. Its turn is finished, and its parent goes on.
var ErrTimeout = fmt.Errorf("the sub-agent took too long: %w", agent.ErrTurnTimeout)

// reasonLabel returns err as a label of the metrics.
func reasonLabel(err error) string {
	switch {
	case errors.Is(err, ErrDepth):
		return "depth"
	case errors.Is(err, ErrSpawns), errors.Is(err, ErrChildren):
		return "fanout"
	case errors.Is(err, ErrConcurrency):
		return "concurrency"
	case errors.Is(err, ErrBudget):
		return "budget"
	default:
		return "policy"
	}
}

// refuse counts a refusal, which is the tool's error; a store that failed is
// none.
func (r *Runner) refuse(err error) error {
	if !errors.Is(err, tools.ErrUnfinished) {
		r.o.Observer.SubagentDenied(reasonLabel(err))
	}
	return err
}

// countIfBusy returns err, and counted if it is the lack of a slot.
func (r *Runner) countIfBusy(err error) error {
	if errors.Is(err, ErrConcurrency) {
		return r.refuse(err)
	}
	return err
}
