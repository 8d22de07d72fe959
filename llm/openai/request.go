package openai

import (
	"encoding/json"
	"strings"

	"parley/llm"
	"parley/transcript"
)

// chatSettings are a request up to its tools. Which of the two limits is
// sent, the options say.
type chatSettings struct {
	Model               string        `json:"model"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	TopP                *float64      `json:"top_p,omitempty"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	ServiceTier         string        `json:"service_tier,omitempty"`
	StreamOptions       streamOptions `json:"stream_options"`
	ToolChoice          string        `json:"tool_choice,omitempty"`
}

// chatStream stands behind the tools.
type chatStream struct {
	Stream bool `json:"stream"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// chatMessage is a message that we write; replayed ones stay raw.
type chatMessage struct {
	Role       string `json:"role"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	Content    any    `json:"content"` // a text, or []chatPart
}

type chatPart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *chatImage `json:"image_url,omitempty"`
}

type chatImage struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

func (m *Model) settings(r llm.Request) chatSettings {
	s := chatSettings{Model: m.Name(), StreamOptions: streamOptions{IncludeUsage: true}, ServiceTier: m.tier()}
	if limit := m.MaxTokens(r); m.o.LegacyMaxTokens {
		s.MaxTokens = limit
	} else {
		s.MaxCompletionTokens = limit
	}
	s.Temperature, s.TopP, s.ReasoningEffort = r.Temperature, r.TopP, r.Effort
	if m.o.PromptCacheKey {
		s.PromptCacheKey = r.CacheKey
	}
	if len(r.Tools) > 0 {
		s.ToolChoice = string(r.Choice)
	}
	return s
}

func chatTools(ds []llm.Definition) any {
	var ts []chatTool
	for _, d := range ds {
		ts = append(ts, chatTool{Type: "function", Function: chatFunction{Name: d.Name, Description: d.Description, Parameters: d.Schema}})
	}
	return ts
}

// systemText returns the system message, empty when there is none.
func systemText(r llm.Request) string {
	var texts []string
	for _, b := range r.System {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// request returns r as the protocol writes it.
func (m *Model) request(r llm.Request) wireRequest {
	w := wireRequest{settings: m.settings(r), tools: chatTools, behind: chatStream{true}, key: "messages", encode: m.encodeMessage}
	if text := systemText(r); text != "" {
		w.first = marshalObject(chatMessage{Role: "system", Content: text})
	}
	return w
}

// encodeMessage returns a message of the history as messages of the protocol.
func (m *Model) encodeMessage(h transcript.Message) []json.RawMessage {
	if h.Role == transcript.Assistant {
		return m.encodeAssistant(h)
	}
	return m.encodeNonAssistant(h)
}

// encodeNonAssistant returns a user or tool message: first one message for each result,
// then one with everything else.
func (m *Model) encodeNonAssistant(h transcript.Message) []json.RawMessage {
	return m.encodeParts(h, partForm{
		result: func(id, content string) any { return chatMessage{Role: "tool", ToolCallID: id, Content: content} },
		text:   func(s string) any { return chatPart{Type: "text", Text: s} },
		image: func(url, detail string) any {
			return chatPart{Type: "image_url", ImageURL: &chatImage{URL: url, Detail: detail}}
		},
		message: func(content any) any { return chatMessage{Role: "user", Content: content} },
	})
}

// encodeAssistant returns what the model said: in the provider's own words when they come
// from this provider and model, else rebuilt from the parts, without thinking.
func (m *Model) encodeAssistant(h transcript.Message) []json.RawMessage {
	if n, _ := m.NativeBlocks(h); len(n) == 1 && itemType(n[0]) == "" {
		raw := n[0]
		if m.o.DropReasoning {
			raw = withoutReasoning(raw)
		}
		return []json.RawMessage{raw}
	}
	var words []string
	var calls []nativeCall
	for _, p := range h.Parts {
		switch p := p.(type) {
		case transcript.Text:
			if p.Text != "" {
				words = append(words, p.Text)
			}
		case transcript.ToolCall:
			calls = append(calls, newNativeCall(p))
		}
	}
	if len(words)+len(calls) == 0 {
		return nil
	}
	return []json.RawMessage{marshalObject(nativeMessage(strings.Join(words, "\n"), calls, nil))}
}

// arguments returns a call's input as the text of a JSON object, whatever the model
// wrote. (F10)
func arguments(s string) string {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return s
	}
	if trimmed == "" {
		return "{}"
	}
	raw, _ := marshalUnescaped(map[string]string{"_raw": s}) // a map of strings always encodes
	return string(raw)
}
