package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

// What one answer may hold at most, besides its allowance; more is malformed.
const (
	maxArguments = 1 << 20 // bytes of one tool call's arguments
)

// errReported means that an event is the provider's own report of a failure.
var errReported = errors.New("error event")

// event is a stream event as far as we read it.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        *delta          `json:"delta"`
	Usage        json.RawMessage `json:"usage"`
}

type delta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Citation    json.RawMessage `json:"citation"`
	StopReason  string          `json:"stop_reason"`
}

// answer is a Message that is being received.
type answer struct {
	wire.Sink
	request         llm.Request
	provider, model string

	events     int
	id         string
	reported   string // the model as the answer names it
	stopReason string
	blocks     []*openBlock
	usage      usage
}

// apply works in one event; done says that it was the last.
func (a *answer) apply(raw []byte) (done bool, err error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, wire.Malformedf("event: %v", err)
	}
	switch e.Type {
	case "error":
		return false, errReported
	case "ping":
		return false, nil
	}
	if a.events == 0 && e.Type != "message_start" {
		return false, wire.Malformedf("the stream begins with %.40q", e.Type)
	}
	a.events++
	switch e.Type {
	case "message_start":
		return false, a.begin(e)
	case "content_block_start":
		return false, a.startBlock(e)
	case "content_block_delta":
		return false, a.add(e)
	case "content_block_stop":
		return false, a.closeBlock(e.Index)
	case "message_delta":
		if e.Delta != nil && e.Delta.StopReason != "" {
			a.stopReason = e.Delta.StopReason
		}
		return false, a.usage.merge(e.Usage, true)
	case "message_stop":
		return true, a.checkComplete()
	default: // new kinds of events may come at any time
		a.Warn("unknown stream event %.40q", e.Type)
		return false, nil
	}
}

func (a *answer) begin(e event) error {
	if e.Message == nil {
		return wire.Malformedf("message_start without a message")
	}
	a.id, a.reported = e.Message.ID, e.Message.Model
	return a.usage.merge(e.Message.Usage, false)
}

func (a *answer) startBlock(e event) error {
	if e.Index != len(a.blocks) {
		return wire.Malformedf("block %d where %d was due", e.Index, len(a.blocks))
	}
	b, err := newBlock(e.ContentBlock)
	if err != nil {
		return err
	}
	a.blocks = append(a.blocks, b)
	a.Allowed.CountFrame(2 * len(b.first)) // as it came, and decoded
	switch b.kind {
	case "text":
		a.Emit(llm.Event{Type: llm.ContentStart})
		return a.appendDelta(b, delta{Type: "text_delta", Text: b.start.Text})
	case "thinking":
		b.signature.WriteString(b.start.Signature)
		return a.appendDelta(b, delta{Type: "thinking_delta", Thinking: b.start.Thinking})
	case "tool_use":
		if b.start.Name == "" {
			return wire.Malformedf("tool call without a name")
		}
		a.Emit(llm.Event{Type: llm.ToolUseStart, ToolCall: &transcript.ToolCall{ID: b.start.ID, Name: b.start.Name}})
	}
	return nil
}

func (a *answer) add(e event) error {
	if e.Index < 0 || e.Index >= len(a.blocks) || a.blocks[e.Index].closed || e.Delta == nil {
		return wire.Malformedf("delta for block %d, which is not open", e.Index)
	}
	return a.appendDelta(a.blocks[e.Index], *e.Delta)
}

func (a *answer) appendDelta(b *openBlock, d delta) error {
	a.Allowed.CountOutput(len(d.Text) + len(d.Thinking) + len(d.PartialJSON))
	a.Allowed.CountKept(len(d.Signature) + len(d.Citation))
	switch d.Type {
	case "text_delta":
		b.text.WriteString(d.Text)
		if d.Text != "" {
			a.Emit(llm.Event{Type: llm.ContentDelta, Text: d.Text})
		}
	case "thinking_delta":
		b.thinking.WriteString(d.Thinking)
		if d.Thinking != "" {
			a.Emit(llm.Event{Type: llm.ThinkingDelta, Text: d.Thinking})
		}
	case "signature_delta":
		b.signature.WriteString(d.Signature)
	case "input_json_delta":
		b.input.WriteString(d.PartialJSON)
		if b.input.Len() > maxArguments {
			return wire.Malformedf("arguments longer than %d bytes", maxArguments)
		}
		if d.PartialJSON != "" && b.kind == "tool_use" {
			a.Emit(llm.Event{Type: llm.ToolUseDelta, Text: d.PartialJSON})
		}
	case "citations_delta":
		b.citations = append(b.citations, d.Citation)
	default:
		a.Warn("unknown delta %.40q", d.Type)
	}
	return nil
}

func (a *answer) closeBlock(index int) error {
	if index < 0 || index >= len(a.blocks) || a.blocks[index].closed {
		return wire.Malformedf("stop of block %d, which is not open", index)
	}
	b := a.blocks[index]
	b.closed = true
	switch b.kind {
	case "text":
		a.Emit(llm.Event{Type: llm.ContentStop})
	case "tool_use":
		call := b.call()
		a.Emit(llm.Event{Type: llm.ToolUseStop, ToolCall: &call})
	}
	return nil
}

// checkComplete checks that nothing is half-received at the end.
func (a *answer) checkComplete() error {
	for i, b := range a.blocks {
		if !b.closed {
			return wire.Malformedf("the message ends inside block %d", i)
		}
	}
	return nil
}

// response returns the whole answer, after finished.
func (a *answer) response(requestID string) *llm.Response {
	m := transcript.Message{
		Role: transcript.Assistant, Model: cmp.Or(a.reported, a.model),
		Native: &transcript.Native{Provider: a.provider, Model: a.model},
	}
	reason := a.mapStopReason()
	for _, b := range a.blocks {
		switch p := b.part().(type) {
		case nil:
		case transcript.ToolCall:
			// A call that the token limit cut is not to be run.
			p.Finished = reason != transcript.MaxTokens || json.Valid([]byte(p.Input))
			m.Parts = append(m.Parts, p)
		default:
			m.Parts = append(m.Parts, p)
		}
		m.Native.Blocks = append(m.Native.Blocks, b.raw())
	}
	m.Parts = append(m.Parts, transcript.Finish{Reason: reason, Time: time.Now().UTC()})
	return &llm.Response{
		Message: m, Finish: reason, Usage: a.finalUsage(),
		Model: m.Model, RequestID: cmp.Or(requestID, a.id),
	}
}

// mapStopReason maps the stop reason. A reason we do not know ends the turn, or runs
// the tools when there are calls.
func (a *answer) mapStopReason() transcript.FinishReason {
	switch a.stopReason {
	case "end_turn", "stop_sequence":
		return transcript.EndTurn
	case "tool_use":
		return transcript.ToolUse
	case "max_tokens":
		return transcript.MaxTokens
	case "model_context_window_exceeded":
		return transcript.ContextLimit
	case "refusal":
		return transcript.Refusal
	case "pause_turn":
		return llm.PauseTurn
	}
	a.Warn("unknown stop reason %.40q", a.stopReason)
	if slices.ContainsFunc(a.blocks, func(b *openBlock) bool { return b.kind == "tool_use" }) {
		return transcript.ToolUse
	}
	return transcript.EndTurn
}

// openBlock is a content block that is being received.
type openBlock struct {
	kind   string
	first  json.RawMessage // as its start event had it
	start  blockStart
	closed bool

	text, thinking, signature, input strings.Builder
	citations                        []json.RawMessage
}

type blockStart struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Input     json.RawMessage `json:"input"`
}

func newBlock(raw json.RawMessage) (*openBlock, error) {
	b := &openBlock{}
	if err := json.Unmarshal(raw, &b.start); err != nil || b.start.Type == "" {
		return nil, wire.Malformedf("content block without a type")
	}
	b.kind = b.start.Type
	if b.kind == "tool_use" { // servers behind a base URL give ids that they do not take back
		b.start.ID = safeID(cmp.Or(b.start.ID, wire.NewID()))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, wire.Malformedf("content block: %v", err)
	}
	b.first = compact.Bytes()
	return b, nil
}

// arguments are what the model wrote: the deltas, or the start's input when
// there were none.
func (b *openBlock) arguments() string {
	if b.input.Len() > 0 {
		return b.input.String()
	}
	if len(b.start.Input) > 0 {
		return string(b.start.Input)
	}
	return "{}"
}

func (b *openBlock) call() transcript.ToolCall {
	return transcript.ToolCall{ID: b.start.ID, Name: b.start.Name, Input: b.arguments(), Finished: true}
}

// part returns the block for everybody, nil when only the provider can read it.
func (b *openBlock) part() transcript.Part {
	switch b.kind {
	case "text":
		if b.text.Len() > 0 {
			return transcript.Text{Text: b.text.String()}
		}
	case "thinking":
		if b.thinking.Len() > 0 {
			return transcript.Reasoning{Thinking: b.thinking.String()}
		}
	case "tool_use":
		return b.call()
	}
	return nil
}

// raw returns the block as it goes back to the provider: its start, with the fields
// that the deltas filled. A block without deltas stays as it came.
func (b *openBlock) raw() json.RawMessage {
	set := map[string]any{}
	switch b.kind {
	case "text":
		set["text"] = b.text.String()
		if len(b.citations) > 0 {
			set["citations"] = b.citations
		}
	case "thinking":
		set["thinking"], set["signature"] = b.thinking.String(), b.signature.String()
	case "tool_use":
		set["id"], set["input"] = b.start.ID, inputObject(b.arguments())
	default:
		if b.input.Len() == 0 {
			return b.first
		}
		set["input"] = inputObject(b.input.String())
	}
	return overlay(b.first, set)
}
