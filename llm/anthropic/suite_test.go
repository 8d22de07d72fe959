package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/costs"
	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheAdapterKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Adapter{Open: open, Wire: llmtest.Wire{
		Text: text, Thinking: thinking, Tool: tool, Silent: silent, Visible: 3, Final: 0,
		Native: func(words string) []json.RawMessage {
			return []json.RawMessage{
				json.RawMessage(`{"type":"thinking", "thinking":"so","signature":"c2ln"}`), json.RawMessage(`{"type":"text", "text":` + llmtest.Quote(words) + `}`),
			}
		},
		Usage: costs.Usage{
			Input: 10, CacheRead: 20, CacheWrite5m: 3, CacheWrite1h: 4, Output: 9, Reasoning: 2,
			ServerTools: map[string]int64{"web_search": 1}, Tier: "standard", Source: costs.Reported,
		},
		Error: func(kind llm.Kind, message string) string {
			return event("error", errorJSON(kind, message))
		},
		Refusal: errorJSON,
		Hoards: map[string]func(int) string{ // block 0 is a text
			"empty blocks": func(i int) string {
				return event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i+1))
			},
			"blocks that nobody knows": func(i int) string {
				return event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"new","x":%q}}`, i+1, long))
			},
			"signatures": func(int) string {
				return event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":%q}}`, long))
			},
			"citations": func(int) string {
				return event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"x":%q}}}`, long))
			},
		},
	}})
}

var long = strings.Repeat("x", 100<<10)

const model = "claude-opus-4-8"

// open is a model whose every request is held against the schema.
func open(t testing.TB, e llmtest.Endpoint) llm.Model {
	client := *e.Client
	client.Transport = &llmtest.AnthropicValidator{T: t, Next: client.Transport}
	m, err := anthropic.New(anthropic.Options{
		Provider: "main", Model: model, APIKey: e.Key, BaseURL: e.URL, HTTPClient: &client,
		FirstByteTimeout: e.FirstByte, IdleTimeout: e.Idle, TotalTimeout: e.Total,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func errorJSON(kind llm.Kind, message string) string {
	name := map[llm.Kind]string{
		llm.Overloaded: "overloaded_error", llm.RateLimited: "rate_limit_error", llm.Server: "api_error",
		llm.Auth: "authentication_error", llm.Quota: "billing_error", llm.InvalidRequest: "invalid_request_error",
		llm.ContextLength: "invalid_request_error",
	}[kind]
	if kind == llm.ContextLength {
		message = "prompt is too long: 9 tokens > 8 maximum; " + message
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_1"}`, name, llmtest.Quote(message))
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func start(usage string) string {
	return event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8-20260528","content":[],"stop_reason":null,"stop_sequence":null,"usage":`+usage+`}}`)
}

func end(reason, usage string) []string {
	return []string{
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":`+llmtest.Quote(reason)+`,"stop_sequence":null}`+usage+`}`),
		event("message_stop", `{"type":"message_stop"}`),
	}
}

const (
	firstUsage = `{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":1,"service_tier":"standard"}`
	lastUsage  = `,"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":2},"server_tool_use":{"web_search_requests":1,"web_fetch_requests":0},"cache_read_input_tokens":null}`
	ping       = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
)

// block is the events of one content block.
func block(index int, first string, deltas ...string) []string {
	out := []string{event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s  }`, index, first))}
	for _, d := range deltas {
		out = append(out, event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)))
	}
	return append(out, event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)))
}

func join(parts ...[]string) (out []string) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func textDeltas(pieces []string) (out []string) {
	for _, p := range pieces {
		out = append(out, `{"type":"text_delta","text":`+llmtest.Quote(p)+`}`)
	}
	return out
}

func text(pieces ...string) []string {
	return join([]string{start(firstUsage), ping}, block(0, `{"type":"text","text":""}`, textDeltas(pieces)...), end("end_turn", lastUsage))
}

func silent(s string) []string {
	return join([]string{start(`null`)}, block(0, `{"type":"text","text":""}`, textDeltas([]string{s})...), end("end_turn", ""))
}

func thinking(thought, said string) []string {
	return join([]string{start(firstUsage)},
		block(0, `{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":`+llmtest.Quote(thought)+`}`, `{"type":"signature_delta","signature":"c2ln+/="}`),
		block(1, `{"type":"text","text":""}`, textDeltas([]string{said})...), end("end_turn", lastUsage))
}

func tool(id, name string, pieces ...string) []string {
	deltas := []string{`{"type":"input_json_delta","partial_json":""}`}
	for _, p := range pieces {
		deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+llmtest.Quote(p)+`}`)
	}
	return join([]string{start(firstUsage)},
		block(0, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, name), deltas...), end("tool_use", lastUsage))
}

var _ http.RoundTripper = (*llmtest.AnthropicValidator)(nil)
