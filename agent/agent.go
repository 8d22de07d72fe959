// Package agent runs one turn: it streams a model over a session's history,
// runs the tools that the model asks for, and knows when to stop.
//
// The loop keeps nothing. What it must remember and owe goes through a
// [Journal], step by step, so that another worker can go on where this one
// died: a finished model call is never paid twice, a tool with side effects
// never runs twice.
package agent

import (
	"context"
	"errors"
	"time"

	"parley/costs"
	"parley/llm"
	"parley/sessionkeys"
	"parley/tools"
	"parley/transcript"
)

// Journal is what the loop remembers and owes: one session with one owner.
// Every method but Messages is one durable commit. An error of any of them
// ends the turn at once and leaves it open for the worker that takes the session over.
type Journal interface {
	// Messages returns the history so far, oldest first, with what joined it
	// (see Steering). The first messages of a long one may be zero, where a summary that
	// counts stands for them. It is read before each model call.
	Messages(ctx context.Context) ([]transcript.Message, error)
	// WholeHistory is Messages with the first ones, too.
	WholeHistory(ctx context.Context) ([]transcript.Message, error)
	// Append adds results of tools.
	Append(ctx context.Context, ms ...transcript.Message) error
	// Begin is called before a tool with side effects runs. It reports whether
	// the same call was begun before: then it must not run again.
	Begin(ctx context.Context, step int, callID string) (again bool, err error)
	// Spent returns what the person's turn that this one belongs to has cost so far, with
	// sub-agents and earlier takes, as far as it is booked. It is asked of turns with a
	// MaxCost.
	Spent(ctx context.Context) (costs.Amount, error)
	// Used returns how many tokens the model calls of this turn took so far, in earlier takes
	// too: requests and answers, and what a cache served like everything else.
	Used(ctx context.Context) (int64, error)
	// Reserve writes down the worst case of a call before it is made, and what
	// the model is asked. It returns a *costs.BudgetError when the money is not
	// there.
	Reserve(ctx context.Context, e costs.Estimate, a transcript.RequestRecord) (costs.Reservation, error)
	// ReserveTool writes down what a call of a tool costs before it runs, as Reserve does. It
	// numbers the attempt of the call at that place of its answer, from 0: one that no other
	// take has made.
	ReserveTool(ctx context.Context, e costs.Estimate, index int) (costs.Reservation, error)
	// Settle books what a call cost and adds its answer, or its result, if it has one, in one
	// commit.
	Settle(ctx context.Context, s costs.Settlement, ms ...transcript.Message) error
	// Finish ends the turn in one commit: the last call's settlement (nil when
	// the end is not a model's answer), the closing messages, and what o says
	// to the person. It is called exactly once for each turn that Run ends
	// without an error.
	Finish(ctx context.Context, s *costs.Settlement, o Outcome, ms ...transcript.Message) error
}

// Why a turn's context may end. The gateway cancels with one of these as the
// cause; any other cause counts as ErrHandover.
var (
	// ErrStopped: a person said stop. The turn is finished as cancelled.
	ErrStopped = tools.ErrStopped
	// ErrTurnTimeout: the turn took too long. It is finished and the person told.
	ErrTurnTimeout = errors.New("turn took too long")
	// ErrHandover: this process goes away. The turn is left open.
	ErrHandover = errors.New("handed over to another worker")
)

// Turn is one user message and everything that follows from it.
type Turn struct {
	ID        string
	Session   sessionkeys.SessionID
	Key       sessionkeys.Key
	Purpose   costs.Purpose // RootTurn or Subagent
	Channel   string        // instance name, a label
	Workspace string        // the session's own folder
	Dir       string        // where commands begin, relative to Workspace; for the whole turn
	Env       []string      // name=value for commands; for the whole turn

	// Of a sub-agent's turn: the person's turn above it, the turn that started it, and how
	// far below the first it is.
	Root   string
	Parent string
	Depth  int

	Model     llm.Model
	System    []llm.SystemBlock
	Tools     *tools.Set
	Window    int // most tokens of a request and its answer; 0: as [llm.Lookup] knows the model
	MaxTokens int // most output tokens of one call; 0: the model's own most
	MaxSteps  int // most model calls; 0: 20 (C01)

	// Middleware decides between the model calls whether the turn goes on. nil: the
	// standard one. MaxCost and MaxTurnTokens belong to PriceLimit and TokenLimit; 0: none.
	Middleware    []Middleware
	MaxCost       costs.Amount
	MaxTurnTokens int64

	Parameters  llm.Parameters // how the model is asked
	Retry       Retrier        // of failed calls, whichever model of the turn's; nil: as the loop says
	ToolTimeout time.Duration  // 0: as the loop says
	ToolOutput  int            // bytes of one result of a tool; 0: as the loop says
	Vision      bool           // the model takes pictures

	// Fallbacks are asked in this order when the model does not work. A turn keeps the one
	// that it came to. (docs/decisions/0066)
	Fallbacks []Fallback

	// Summariser is asked for summaries before the turn's own model; nil: that alone is.
	Summariser *Fallback

	// Compact: the turn carries out what a person asked for, and answers no message.
	Compact *Compaction

	// Permitted is a call that an earlier turn of the session waited with, about which a
	// person has decided: the turn begins with it, before any model call. The gate is asked
	// about it as about any other. nil: there is none.
	Permitted *transcript.ToolCall

	Steering Steering // nil: nothing joins the turn

	// Where a turn that another worker left goes on: Steps model calls were
	// answered and committed, and Tries attempts were made of the next one.
	Steps int
	Tries int
}

// Compaction is what a person asks for to be done about a long conversation.
type Compaction struct {
	Undo   bool   // take the newest summary back
	Wishes string // what the summary is to hold above all; "": nothing said
}

// Outcome is how a turn ended.
type Outcome struct {
	Finish transcript.FinishReason
	Text   string       // what the person is told; "" only when Silent
	Beside string       // what the answer said beside the call about which Text asks, not in Text
	Silent bool         // nothing is to be sent (a stopped turn is answered by the command)
	Err    error        // why it ended early, for the log; nil on an ordinary end
	Steps  int          // model calls, those of earlier takes included
	Cost   costs.Amount // what the calls of this take cost, those of tools included
	Priced bool         // false: at least one call has no known price
}

// BudgetError returns what the budgets refused, if that is why the turn ended early.
func (o Outcome) BudgetError() *costs.BudgetError {
	refused, _ := errors.AsType[*costs.BudgetError](o.Err)
	return refused
}

// CallReport is one attempt of a model call, for metrics.
type CallReport struct {
	Entry      costs.Entry
	Took       time.Duration
	FirstToken time.Duration // 0: none came
	Err        *llm.Error    // nil: it was answered

	Began    time.Time               // zero: it is not known
	Answered string                  // the model as the answer names it; "": it does not
	Finish   transcript.FinishReason // of the answer; "": none came
}
