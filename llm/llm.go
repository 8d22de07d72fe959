// Package llm is the one way to talk to models: a request, a stream of events,
// kinds of errors, when to try again, and what models can do.
//
// A [Model] makes exactly one HTTP request per Stream: it never retries by
// itself, because every attempt is a row of the ledger. [Retry] says whether
// and when the caller may try again.
package llm

import (
	"context"
	"encoding/json"
	"iter"

	"parley/costs"
	"parley/transcript"
)

// Model is one model of one provider. Many goroutines may stream at once.
type Model interface {
	// Provider returns the name the operator gave the provider; Name is the model's
	// name as the provider knows it. Together they find the price.
	Provider() string
	Name() string

	// Stream sends r and yields what comes back. The last pair is either an
	// event of type Complete with a nil error, or a zero Event with an *Error:
	// a stream that ends otherwise (cut, no stop event) yields an *Error, never
	// Complete. When ctx ends the request is cut off within milliseconds and
	// the *Error has kind Canceled. Breaking out of the loop does the same.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Request is one call of a model.
type Request struct {
	System   []SystemBlock        // in order; stable blocks first
	Messages []transcript.Message // user, assistant, tool; paired; never System
	Tools    []Definition         // empty: no tools key on the wire
	Choice   ToolChoice
	Picture  int64 // most tokens of one picture, for Upper; 0: nobody knows

	MaxTokens int // most output tokens, thinking included; 0: the model's own most, as Info says
	Parameters

	// CacheKey is an opaque token that groups requests with a common prefix,
	// for providers that take one. It names nobody.
	CacheKey string
}

// SystemBlock is one block of the system message. Cache asks for a cache
// breakpoint behind it, where the provider has such a thing.
type SystemBlock struct {
	Text  string
	Cache bool
}

// Definition is a tool as the model sees it. Schema is a JSON Schema of type
// object.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// ToolChoice decides whether the model may, must or must not call a tool.
type ToolChoice string

// Tool choices.
const (
	Auto     ToolChoice = ""
	None     ToolChoice = "none"
	Required ToolChoice = "required"
)

// EventType names what a stream brings. (D01)
type EventType string

// What a stream brings.
const (
	ContentStart  EventType = "content_start"
	ContentDelta  EventType = "content_delta"
	ContentStop   EventType = "content_stop"
	ThinkingDelta EventType = "thinking_delta"
	ToolUseStart  EventType = "tool_use_start"
	ToolUseDelta  EventType = "tool_use_delta"
	ToolUseStop   EventType = "tool_use_stop"
	Complete      EventType = "complete"
	Warning       EventType = "warning"
)

// Event is one step of a stream. (D02)
type Event struct {
	Type     EventType
	Text     string               // ContentDelta, ThinkingDelta, ToolUseDelta (arguments), Warning
	ToolCall *transcript.ToolCall // ToolUseStart (ID and Name), ToolUseStop (whole)
	Response *Response            // Complete
}

// PauseTurn is a Finish beside those of a turn, which it does not end: the
// provider paused a long answer of its own tools, and goes on when it gets the
// message back.
const PauseTurn transcript.FinishReason = "pause_turn"

// Response is a whole answer.
type Response struct {
	// Message has role Assistant, its parts in the order they came, a Finish
	// part last, and Native filled. Its ID and CreatedAt are left to the caller.
	Message   transcript.Message
	Finish    transcript.FinishReason
	Usage     costs.Usage
	Model     string // as the response names it, which may be a dated version
	RequestID string
}
