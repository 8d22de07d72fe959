package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"parley/llm/wire"
	"parley/transcript"
)

// nativeCall is a tool call as the protocol has it, with the fields that only
// its provider understands (a signature, for example).
type nativeCall map[string]any

func newNativeCall(c transcript.ToolCall) nativeCall {
	return nativeCall{
		"id": wire.SafeID(c.ID), "type": "function",
		"function": map[string]string{"name": c.Name, "arguments": arguments(c.Input)},
	}
}

// nativeMessage returns an assistant message as the protocol has it.
func nativeMessage(text string, calls []nativeCall, extra map[string]any) map[string]any {
	m := map[string]any{}
	maps.Copy(m, extra)
	m["role"] = "assistant"
	if text != "" || len(calls) == 0 {
		m["content"] = text
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return m
}

// withoutReasoning drops the reasoning fields of a stored message.
func withoutReasoning(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	maps.DeleteFunc(m, func(name string, _ json.RawMessage) bool { return isReasoning(name) })
	out, err := marshalUnescaped(m)
	if err != nil {
		return raw
	}
	return out
}

// marshalUnescaped is JSON without the escaping of <, > and &.
func marshalUnescaped(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// itemType tells the blocks of the two protocols apart, which a history holds
// both of when its provider has been moved from one to the other: every item
// of Responses has a type, and no message of Chat Completions has.
func itemType(raw json.RawMessage) string {
	var item struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &item) != nil {
		return ""
	}
	return item.Type
}
