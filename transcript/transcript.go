// Package transcript is what was said in a session: messages as roles and
// typed parts, their JSON form, and the rule that tool calls and tool results
// come in pairs.
//
// Messages and parts are values. No function here changes what it is given;
// what it returns may share memory with its argument, so nobody else changes a
// part or a slice of parts in place either.
package transcript

import (
	"encoding/json"
	"strings"
	"time"
)

// Role describes whose words a message holds.
type Role string

// The roles. The system message of a request is never stored: it is built for each
// request. A stored message of the role System is an [Overlay].
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // all results of one assistant message's calls
)

// Message is one entry of a session's history. Messages are ordered by their
// place in the history, not by time. One that is stored is never changed, so there is no
// time of a change. (docs/decisions/0093)
type Message struct {
	ID        string    `json:"id"`
	Role      Role      `json:"role"`
	Parts     []Part    `json:"-"` // in JSON: "parts", see MarshalJSON
	Model     string    `json:"model,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	// Native is what the provider really said, block by block, so that it can
	// be sent back byte for byte (signed thinking, encrypted reasoning). Only
	// on assistant messages, and only used again by the same provider and
	// model; Parts say the same for everybody else.
	Native *Native `json:"native,omitempty"`
}

// Native is a provider's own form of an assistant message.
type Native struct {
	Provider string            `json:"provider"` // as llm.Model.Provider names it
	Model    string            `json:"model"`
	Blocks   []json.RawMessage `json:"blocks"`
}

// Part is one piece of a message: Text, Reasoning, ToolCall, ToolResult,
// Finish, Binary, ImageURL or Overlay, or Unknown for a part that a newer version
// wrote. Parts are values; nobody changes one in place.
type Part interface {
	partType() string
}

// Text is words.
type Text struct {
	Text string `json:"text"`
}

// Reasoning is a model's thinking, as far as the provider shows it.
type Reasoning struct {
	Thinking string `json:"thinking"`
}

// ToolCall is a model's wish to run a tool. Input is the JSON text exactly as
// the model wrote it, which may be invalid.
type ToolCall struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Input    string `json:"input"`
	Finished bool   `json:"finished"`
}

// ToolResult answers the call whose ID it carries.
type ToolResult struct {
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name"`
	Content    string `json:"content"`
	Metadata   string `json:"metadata,omitempty"`
	IsError    bool   `json:"is_error"`
	// Kind says of an error whether the same call may succeed later, where its tool knows
	// that: transient or permanent. Not for the model.
	Kind string `json:"kind,omitempty"`
	// View is how many bytes of Content requests hold; 0: all.
	View int `json:"view,omitempty"`
}

// Finish ends an assistant message. In JSON its time is whole unix seconds, so
// fractions are lost there; the zero time is 0.
type Finish struct {
	Reason FinishReason
	Time   time.Time
	Size   RequestSize // of the request that the message answers
}

// RequestSize is how large a request was. The zero value: its provider did not count it.
type RequestSize struct {
	Model  string `json:"model"`  // as the request named it: tokens of another count otherwise
	Input  int64  `json:"input"`  // tokens that the provider counted
	Output int64  `json:"output"` // tokens of its answer
	Guess  int64  `json:"guess"`  // tokens of the input as they had been estimated
}

// Overlay changes what later requests hold of the history before it, and nothing of the
// history itself, which stays readable as it was. It is the only part of a message of the
// role System, which no request holds.
type Overlay struct {
	Kind OverlayKind `json:"kind"`
	// Through: the first Through messages of the history are what it covers. NoSummary and
	// Undone cover none.
	Through int `json:"through,omitempty"`
	// View, of Trimmed: how many bytes of each covered result of a tool requests hold.
	View    int    `json:"view,omitempty"`
	Summary string `json:"summary,omitempty"` // of Summarised
	Trigger string `json:"trigger,omitempty"` // what led to it: auto, overflow or manual
	Reason  string `json:"reason,omitempty"`  // of NoSummary: why there is no summary
	// Before and After are tokens of the next request without and with it, estimated.
	Before int64 `json:"before,omitempty"`
	After  int64 `json:"after,omitempty"`
}

// OverlayKind says what an overlay does.
type OverlayKind string

// What overlays do.
const (
	Summarised OverlayKind = "summary" // a summary stands for the covered messages
	Trimmed    OverlayKind = "trim"    // long results of tools among the covered messages are cut
	Undone     OverlayKind = "undo"    // the newest summary that counts does not count any more
	Excerpt    OverlayKind = "excerpt" // behind the covered messages nothing counts up to here; in requests, in no history
	NoSummary  OverlayKind = "failed"  // nothing: a summary was asked for and did not come
)

// Binary is an attachment: by path in the session's workspace, or inline. One by path
// whose content a model is shown has the content's Sum, its SHA-256 in hexadecimal.
type Binary struct {
	Path     string `json:"path,omitempty"`
	MIMEType string `json:"mime_type"`
	Sum      string `json:"sum,omitempty"`
	Data     []byte `json:"data,omitempty"`
	Sound    *Sound `json:"sound,omitempty"`
}

// Sound says of a Binary that it is something to hear, which waits to be made words of
// or was: its words, or why there are none, are a message of the same turn. Models are
// not told of the Binary itself.
type Sound struct {
	Name   string `json:"name"`            // with the ending by which a provider knows the format
	Bytes  int64  `json:"bytes"`           // of the file
	Millis int64  `json:"millis"`          // how long it is, at most
	Guess  bool   `json:"guess,omitempty"` // Millis is reckoned from Bytes: it is far less, mostly
	// Spoken: the sender of the message says it. Otherwise it is somebody else's, or
	// nobody knows whose.
	Spoken bool `json:"spoken,omitempty"`
}

// ImageURL is a picture that the provider fetches by itself.
type ImageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// Unknown keeps a part of a type that this version does not know, byte for
// byte, so that reading and writing a history loses nothing.
type Unknown struct {
	Type string
	Data json.RawMessage
}

func (Text) partType() string       { return "text" }
func (Reasoning) partType() string  { return "reasoning" }
func (ToolCall) partType() string   { return "tool_call" }
func (ToolResult) partType() string { return "tool_result" }
func (Finish) partType() string     { return "finish" }
func (Binary) partType() string     { return "binary" }
func (ImageURL) partType() string   { return "image_url" }
func (Overlay) partType() string    { return "overlay" }
func (u Unknown) partType() string  { return u.Type }

// FinishReason describes why an assistant message, or the whole turn, ended.
type FinishReason string

// Why a message or a turn ended.
const (
	EndTurn          FinishReason = "end_turn"
	ToolUse          FinishReason = "tool_use"
	Canceled         FinishReason = "canceled"
	PermissionDenied FinishReason = "permission_denied"
	Waiting          FinishReason = "waiting" // for a person, who has to permit a call
	MaxIterations    FinishReason = "max_iterations"
	MaxTokens        FinishReason = "max_tokens"
	Refusal          FinishReason = "refusal"
	ContextLimit     FinishReason = "context_limit"
	Budget           FinishReason = "budget"
	Stopped          FinishReason = "stopped"
	Done             FinishReason = "done"
	Failed           FinishReason = "error"
	TimedOut         FinishReason = "timeout" // of an answer, or of a sub-agent's turn
)

// Text joins the text parts of m with a newline and trims the ends: what a
// person is shown of it. It is "" when m has no text.
func (m Message) Text() string {
	var words []string
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			words = append(words, t.Text)
		}
	}
	return strings.TrimSpace(strings.Join(words, "\n"))
}

// Overlay returns the overlay that m is; ok is false of every other message.
func (m Message) Overlay() (o Overlay, ok bool) {
	if len(m.Parts) != 1 {
		return Overlay{}, false
	}
	o, ok = m.Parts[0].(Overlay)
	return o, ok
}

// Finish returns the part that ends an assistant message, and its zero value when there is
// none.
func (m Message) Finish() Finish {
	for _, p := range m.Parts {
		if f, ok := p.(Finish); ok {
			return f
		}
	}
	return Finish{}
}

// Calls gives the tool calls of m in the order the model made them.
func (m Message) Calls() []ToolCall { return partsOf[ToolCall](m) }

// Results gives the tool results that m carries, in order.
func (m Message) Results() []ToolResult { return partsOf[ToolResult](m) }

func partsOf[P Part](m Message) []P {
	var ps []P
	for _, p := range m.Parts {
		if v, ok := p.(P); ok {
			ps = append(ps, v)
		}
	}
	return ps
}
