package openai

import (
	"cmp"
	"encoding/json"
	"maps"
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
	maxCalls     = 1024
)

// chunk is one event of the stream as far as we read it. Its id is not used
// to tell answers apart: there are servers that change it from chunk to chunk.
type chunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Tier    string `json:"service_tier"`
	Choices []struct {
		Index  int                        `json:"index"`
		Delta  map[string]json.RawMessage `json:"delta"`
		Finish string                     `json:"finish_reason"`
	} `json:"choices"`
	Usage *counts          `json:"usage"`
	Groq  groqExtension    `json:"x_groq"`
	Error *json.RawMessage `json:"error"` // instead of an answer
}

// groqExtension is what only Groq says; its compound models say the usage nowhere else.
// (firstday P1)
type groqExtension struct{ usage *counts }

// UnmarshalJSON reads the usage, where there is one.
func (g *groqExtension) UnmarshalJSON(raw []byte) error {
	var v struct {
		Usage *counts `json:"usage"`
	}
	if json.Unmarshal(raw, &v) == nil { // the field is nobody's standard
		g.usage = v.Usage
	}
	return nil
}

// answer is an assistant message that is being received.
type answer struct {
	incoming

	chunks       int
	choice       bool // at least one choice came
	finishReason string

	text      strings.Builder
	refused   bool
	open      bool // ContentStart was sent
	reasoning reasoning
	calls     []*call
}

// call is a tool call that is being received.
type call struct {
	index    int
	id, name string
	started  bool // ToolUseStart was sent
	input    strings.Builder
	extra    map[string]json.RawMessage
}

// isDone reports whether the answer said why it stopped.
func (a *answer) isDone() bool { return a.finishReason != "" }

func readChunk(raw []byte) (c chunk, err error) {
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, wire.Malformedf("chunk: %v", err)
	}
	return c, nil
}

// apply works in one chunk.
func (a *answer) apply(c chunk) error {
	a.chunks++
	if a.id == "" {
		a.id = c.ID
	}
	if c.Model != "" {
		a.reported = c.Model
	}
	if c.Tier != "" {
		a.tier = c.Tier
	}
	if c.Groq.usage != nil {
		a.usage = c.Groq.usage
	}
	if c.Usage != nil { // the last one counts; some servers send it with every chunk
		a.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 { // we ask for one
			continue
		}
		a.choice = true
		if err := a.add(choice.Delta); err != nil {
			return err
		}
		if choice.Finish != "" {
			a.finishReason = choice.Finish
		}
	}
	return nil
}

func (a *answer) add(delta map[string]json.RawMessage) error {
	for name, raw := range delta {
		if isReasoning(name) { // kept as it goes back to the provider
			a.Allowed.CountKept(len(name) + len(raw))
		}
	}
	if thought := a.reasoning.add(delta); thought != "" {
		a.EmitOutput(llm.ThinkingDelta, thought)
	}
	text, thought, err := decodeContent(delta["content"])
	if err != nil {
		return err
	}
	if thought != "" {
		a.reasoning.text.WriteString(thought)
		a.EmitOutput(llm.ThinkingDelta, thought)
	}
	a.appendText(text)
	refusal, _, err := decodeContent(delta["refusal"])
	if err != nil {
		return err
	}
	if refusal != "" {
		a.refused = true
		a.appendText(refusal)
	}
	return a.addCalls(delta["tool_calls"])
}

func (a *answer) appendText(text string) {
	if text == "" {
		return
	}
	if !a.open {
		a.open = true
		a.Emit(llm.Event{Type: llm.ContentStart})
	}
	a.text.WriteString(text)
	a.EmitOutput(llm.ContentDelta, text)
}

// decodeContent reads a text: a string, null, or a list of typed pieces, of which
// some are thinking.
func decodeContent(raw json.RawMessage) (text, thought string, err error) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, "", nil
	}
	var list []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", "", wire.Malformedf("content: %v", err)
	}
	for _, piece := range list {
		text += piece.Text
		if len(piece.Thinking) > 0 {
			inner, _, err := decodeContent(piece.Thinking)
			if err != nil {
				return "", "", err
			}
			thought += inner
		}
	}
	return text, thought, nil
}

func (a *answer) addCalls(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var deltas []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &deltas); err != nil {
		return wire.Malformedf("tool calls: %v", err)
	}
	for _, d := range deltas {
		if err := a.addCall(d); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) addCall(d map[string]json.RawMessage) error {
	var known struct {
		Index    *int
		ID       string
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
	}
	for name, into := range map[string]any{"index": &known.Index, "id": &known.ID, "function": &known.Function} {
		if raw := d[name]; len(raw) > 0 {
			if err := json.Unmarshal(raw, into); err != nil {
				return wire.Malformedf("tool call %s: %v", name, err)
			}
		}
	}
	c, err := a.findCall(known.Index, known.ID, known.Function.Name)
	if err != nil {
		return err
	}
	if c.name == "" {
		c.name = known.Function.Name
	}
	for name, raw := range d {
		if !slices.Contains([]string{"index", "id", "type", "function"}, name) && string(raw) != "null" {
			if c.extra == nil {
				c.extra = map[string]json.RawMessage{}
			}
			c.extra[name] = raw
			a.Allowed.CountKept(len(name) + len(raw))
		}
	}
	if c.name != "" && !c.started {
		c.started = true
		a.Emit(llm.Event{Type: llm.ToolUseStart, ToolCall: &transcript.ToolCall{ID: c.id, Name: c.name}})
	}
	piece := argumentPiece(known.Function.Arguments)
	if piece == "" {
		return nil
	}
	c.input.WriteString(piece)
	if c.input.Len() > maxArguments {
		a.Allowed.CountOutput(len(piece))
		return wire.Malformedf("arguments longer than %d bytes", maxArguments)
	}
	a.EmitOutput(llm.ToolUseDelta, piece)
	return nil
}

// argumentPiece is arguments as text; some servers send the object itself.
func argumentPiece(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// findCall returns the call that a delta belongs to: that of its index, unless the
// delta has another id (servers that number every call 0); without an index,
// that of its id, or the newest. Else a new one.
func (a *answer) findCall(index *int, id, name string) (*call, error) {
	for _, c := range slices.Backward(a.calls) {
		sameID := id == "" || wire.SafeID(id) == c.id
		switch {
		case index != nil && *index == c.index && sameID:
			return c, nil
		case index == nil && id != "" && sameID:
			return c, nil
		case index == nil && id == "" && name == "":
			return c, nil
		}
	}
	if len(a.calls) >= maxCalls {
		return nil, wire.Malformedf("more than %d tool calls", maxCalls)
	}
	c := &call{index: len(a.calls), id: wire.NewID()}
	if index != nil {
		c.index = *index
	}
	if id != "" && !slices.ContainsFunc(a.calls, func(o *call) bool { return o.id == wire.SafeID(id) }) {
		c.id = wire.SafeID(id)
	}
	a.calls = append(a.calls, c)
	a.Allowed.CountFrame(len(id) + len(name))
	return c, nil
}

// response closes what is open and is the whole answer, after done.
func (a *answer) response(requestID string) (*llm.Response, error) {
	if a.open {
		a.Emit(llm.Event{Type: llm.ContentStop})
	}
	reason := a.mapFinishReason()
	m := transcript.Message{
		Role: transcript.Assistant, Model: a.reported,
		Native: &transcript.Native{Provider: a.provider, Model: a.model},
	}
	if m.Model == "" {
		m.Model = a.model
	}
	if a.reasoning.text.Len() > 0 {
		m.Parts = append(m.Parts, transcript.Reasoning{Thinking: a.reasoning.text.String()})
	}
	if a.text.Len() > 0 {
		m.Parts = append(m.Parts, transcript.Text{Text: a.text.String()})
	}
	var calls []nativeCall
	for _, c := range a.calls {
		if c.name == "" {
			return nil, wire.Malformedf("tool call without a name")
		}
		whole := transcript.ToolCall{ID: c.id, Name: c.name, Input: c.input.String()}
		if strings.TrimSpace(whole.Input) == "" {
			whole.Input = "{}"
		}
		// A call that the token limit cut is not to be run.
		whole.Finished = reason != transcript.MaxTokens || json.Valid([]byte(whole.Input))
		if whole.Finished {
			a.Emit(llm.Event{Type: llm.ToolUseStop, ToolCall: &whole})
		}
		m.Parts = append(m.Parts, whole)
		native := newNativeCall(whole)
		for name, raw := range c.extra {
			native[name] = raw
		}
		calls = append(calls, native)
	}
	m.Parts = append(m.Parts, transcript.Finish{Reason: reason, Time: time.Now().UTC()})
	raw, err := marshalUnescaped(nativeMessage(a.text.String(), calls, maps.Clone(a.reasoning.fields())))
	if err != nil {
		return nil, wire.Malformedf("%v", err)
	}
	m.Native.Blocks = []json.RawMessage{raw}
	return &llm.Response{
		Message: m, Finish: reason, Usage: a.finalUsage(), Model: m.Model, RequestID: cmp.Or(requestID, a.id),
	}, nil
}

// mapFinishReason maps the finish reason. There are servers that say stop although
// there are calls; a reason we do not know ends the turn, or runs the calls.
func (a *answer) mapFinishReason() transcript.FinishReason {
	switch a.finishReason {
	case "stop", "tool_calls", "function_call", "eos", "end_turn":
	case "length", "max_tokens":
		return transcript.MaxTokens
	case "content_filter":
		a.Warn("the provider's content filter stopped the answer")
		return transcript.Refusal
	default:
		a.Warn("unknown finish reason %.40q", a.finishReason)
	}
	switch {
	case len(a.calls) > 0:
		return transcript.ToolUse
	case a.refused:
		return transcript.Refusal
	}
	return transcript.EndTurn
}
