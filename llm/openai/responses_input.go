package openai

import (
	"cmp"
	"encoding/json"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

// request returns r as the protocol writes it.
func (m *Responses) request(r llm.Request) wireRequest {
	behind := responsesBehind{Instructions: systemText(r)}
	if len(r.Tools) > 0 {
		behind.ToolChoice = string(r.Choice)
	}
	return wireRequest{settings: m.settings(r), tools: functionTools, behind: behind, key: "input", encode: m.encodeMessage}
}

// encodeMessage returns a message of the history as items.
func (m *Responses) encodeMessage(h transcript.Message) []json.RawMessage {
	if h.Role == transcript.Assistant {
		return m.encodeAssistant(h)
	}
	return m.encodeNonAssistant(h)
}

// contentPart is a piece of a message of the person.
type contentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// encodeNonAssistant returns a user or tool message: first one item for each result, then
// one with everything else.
func (m *Responses) encodeNonAssistant(h transcript.Message) []json.RawMessage {
	return m.encodeParts(h, partForm{
		result: func(id, content string) any {
			return map[string]any{"type": "function_call_output", "call_id": id, "output": content}
		},
		text: func(s string) any { return contentPart{Type: "input_text", Text: s} },
		image: func(url, detail string) any {
			return contentPart{Type: "input_image", ImageURL: url, Detail: cmp.Or(detail, "auto")}
		},
		message: func(content any) any { return message("user", content) },
	})
}

// encodeAssistant returns what the model said: in the provider's own items when they come
// from this provider and model, else rebuilt from the parts, without thinking.
func (m *Responses) encodeAssistant(h transcript.Message) []json.RawMessage {
	if native, _ := m.NativeBlocks(h); len(native) > 0 && itemType(native[0]) != "" {
		return m.replay(native)
	}
	var in []json.RawMessage
	for _, p := range h.Parts {
		switch p := p.(type) {
		case transcript.Text:
			if p.Text != "" {
				in = append(in, message("assistant", p.Text))
			}
		case transcript.ToolCall:
			in = append(in, functionCall(wire.SafeID(p.ID), p.Name, p.Input))
		}
	}
	return in
}

// replay returns what goes back of an answer's items: all of them as they came,
// except reasoning that the provider would refuse. It stores nothing, so it
// finds no reasoning that comes without its content; and it wants behind
// reasoning what was said or done because of it, which an answer that was cut
// off while the model reasoned has not. (B05, E04, TX21)
func (m *Responses) replay(native []json.RawMessage) []json.RawMessage {
	var in []json.RawMessage
	said := 0 // items up to the last that is no reasoning
	for _, raw := range native {
		if itemType(raw) == "reasoning" {
			if m.o.DropReasoning || !hasReasoning(raw) {
				continue
			}
			in = append(in, raw)
			continue
		}
		in = append(in, raw)
		said = len(in)
	}
	return in[:said]
}

func hasReasoning(raw json.RawMessage) bool {
	var item struct {
		Encrypted string            `json:"encrypted_content"`
		Content   []json.RawMessage `json:"content"`
	}
	return json.Unmarshal(raw, &item) == nil && (item.Encrypted != "" || len(item.Content) > 0)
}

func message(role string, content any) json.RawMessage {
	return marshalObject(map[string]any{"type": "message", "role": role, "content": content})
}

func functionCall(id, name, input string) json.RawMessage {
	return marshalObject(map[string]any{"type": "function_call", "call_id": id, "name": name, "arguments": arguments(input)})
}

// marshalObject returns a message or an item of our own.
func marshalObject(fields any) json.RawMessage {
	raw, _ := marshalUnescaped(fields) // strings, and structs and maps of them, always encode
	return raw
}
