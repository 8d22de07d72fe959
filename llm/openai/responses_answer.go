package openai

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

// response closes what is open and is the whole answer, after its end.
func (a *responsesAnswer) response(requestID string) (*llm.Response, error) {
	a.closeText()
	reason := a.finishReason()
	m := transcript.Message{
		Role: transcript.Assistant, Model: cmp.Or(a.reported, a.model),
		Native: &transcript.Native{Provider: a.provider, Model: a.model},
	}
	for _, it := range a.items {
		switch it.kind {
		case "reasoning":
			if it.text.Len() > 0 {
				m.Parts = append(m.Parts, transcript.Reasoning{Thinking: it.text.String()})
			}
		case "message":
			if it.text.Len() > 0 {
				m.Parts = append(m.Parts, transcript.Text{Text: it.text.String()})
			}
		case "function_call":
			if it.name == "" {
				return nil, wire.Malformedf("tool call without a name")
			}
			whole := transcript.ToolCall{ID: it.callID, Name: it.name, Input: it.input(), Finished: a.isComplete(it)}
			if whole.Finished {
				a.Emit(llm.Event{Type: llm.ToolUseStop, ToolCall: &whole})
			}
			m.Parts = append(m.Parts, whole)
		}
		if block := it.native(); block != nil {
			m.Native.Blocks = append(m.Native.Blocks, block)
		}
	}
	m.Parts = append(m.Parts, transcript.Finish{Reason: reason, Time: time.Now().UTC()})
	return &llm.Response{
		Message: m, Finish: reason, Usage: a.finalUsage(), Model: m.Model, RequestID: cmp.Or(requestID, a.id),
	}, nil
}

// isComplete reports whether a call may be run: one that the end of the answer cut may
// not.
func (a *responsesAnswer) isComplete(it *item) bool {
	return a.status == "completed" || it.done && it.status != "incomplete" && json.Valid([]byte(it.input()))
}

// finishReason maps how the answer ended. A reason that we do not know ends
// the turn, or runs the calls.
func (a *responsesAnswer) finishReason() transcript.FinishReason {
	if a.status == "incomplete" {
		switch a.reason {
		case "max_output_tokens", "max_tokens":
			return transcript.MaxTokens
		case "content_filter":
			a.Warn("the provider's content filter stopped the answer")
			return transcript.Refusal
		default:
			a.Warn("incomplete for an unknown reason %.40q", a.reason)
		}
	}
	refused := false
	for _, it := range a.items {
		if it.kind == "function_call" {
			return transcript.ToolUse
		}
		refused = refused || it.refused
	}
	if refused {
		return transcript.Refusal
	}
	return transcript.EndTurn
}

// input returns a call's arguments as the model wrote them.
func (it *item) input() string {
	if s := it.text.String(); strings.TrimSpace(s) != "" {
		return s
	}
	return "{}"
}

// native returns the item as it goes back: as it came, byte for byte, or rebuilt
// when it never came whole. Only a call whose id or arguments the provider
// itself would refuse is changed, in just these. (B05)
func (it *item) native() json.RawMessage {
	switch {
	case it.kind == "function_call" && it.raw == nil:
		return functionCall(it.callID, it.name, it.text.String())
	case it.kind == "function_call":
		return it.usable()
	case it.kind == "message" && it.raw == nil && it.text.Len() > 0:
		return message("assistant", it.text.String())
	default:
		return it.raw // nil for reasoning that never came whole
	}
}

func (it *item) usable() json.RawMessage {
	var has struct {
		CallID    string `json:"call_id"`
		Arguments string `json:"arguments"`
	}
	err := json.Unmarshal(it.raw, &has)
	if err == nil && has.CallID == it.callID && has.Arguments == arguments(has.Arguments) {
		return it.raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(it.raw, &fields) != nil {
		return functionCall(it.callID, it.name, it.text.String())
	}
	changed := map[string]any{}
	for name, raw := range fields {
		changed[name] = raw
	}
	changed["call_id"], changed["arguments"] = it.callID, arguments(it.text.String())
	return marshalObject(changed)
}
