// Package tools defines what an agent may do: a tool, its construction from a
// typed function, sets of tools, and the gates before them.
package tools

import (
	"context"
	"encoding/json"
	"errors"

	"parley/costs"
	"parley/llm"
	"parley/sessionkeys"
)

// Tool is one thing an agent may do. Implementations are safe for concurrent
// use.
type Tool interface {
	Definition() llm.Definition
	// Category may depend on the arguments. It is asked before Run, with
	// arguments that were validated.
	Category(c Call) Category
	// Run does it. An error is content for the model, not the end of a turn:
	// see Errorf for its kinds. When ctx ends Run returns soon, with what it
	// started cleaned up.
	Run(ctx context.Context, c Call) (Result, error)
}

// Category decides what may run without asking. (F03)
type Category string

// Categories, weakest first.
const (
	Read  Category = "read"  // no side effects: may run again after a crash
	Write Category = "write" // side effects inside the session's workspace or reach
	Admin Category = "admin" // a person decides each time
)

// Call is one use of a tool.
type Call struct {
	ID        string // the provider's tool-call id, unique in one answer only
	Name      string
	Arguments json.RawMessage // canonical: re-encoded from the one strict decoding
	Session   sessionkeys.SessionID
	Key       sessionkeys.Key
	Turn      string
	Step      int
	Workspace string            // the session's own folder, an absolute path
	Dir       string            // where commands begin, relative to Workspace, as of the turn's begin (AF02)
	Env       []string          // name=value for commands, on top of what all get, as of the turn's begin (AF01)
	Price     costs.Amount      // what the operator says that it costs; 0: nothing
	Progress  func(text string) // incremental output for the event stream; never nil
}

// Result is what a tool says to the model.
type Result struct {
	Content  string
	Metadata string // JSON for people and logs; never shown to the model
	Done     bool   // ends the turn with Content as the answer (F25)
	// Unpaid: the tool knows that nobody charges for the call, because nobody was asked. See
	// ErrUnpaid, which says so of an error.
	Unpaid bool
}

// Decision is a gate's word on a call.
type Decision int

// Decisions.
const (
	Allow   Decision = iota
	Deny             // the model is told so, and why
	Pending          // a person has to decide: the turn ends before this call, which waits
)

// Verdict is a decision with its reason, which the model reads on Deny and on Pending.
type Verdict struct {
	Decision Decision
	Reason   string
	// Ask on Pending: what people are asked, in Markdown. On a Deny with Halt: what they are
	// told; "": that permission was denied. The turn ends with it.
	Ask string
	// Halt on Deny: a person said no; the calls after it are cancelled and the
	// turn ends with permission_denied. Otherwise the loop goes on. (conflict 8)
	Halt bool
}

// Gate decides on a call before it runs. An error ends the turn; a gate that
// cannot tell must deny.
type Gate func(ctx context.Context, t Tool, c Call) (Verdict, error)

// ErrUnpaid marks the error of a call of which its tool knows that nobody charges for it: it
// costs nothing, also where the tool has a price. Of any other error nobody knows.
var ErrUnpaid = errors.New("unpaid")

// ErrPermanent marks a tool's error as one that trying again cannot mend, ErrTransient as
// one of which the tool knows that trying again may; every other error counts as transient,
// too, but the model is not encouraged to try. (F24)
var (
	ErrPermanent = errors.New("permanent")
	ErrTransient = errors.New("transient")
)
