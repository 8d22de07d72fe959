package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheAdapterKeepsThePromisesOfAModel(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Adapter{Open: open, Wire: llmtest.Wire{
		Text: text, Thinking: thinking, Tool: tool, Silent: silent, Visible: 1,
		Final: 2, // the usage and [DONE], after the finish reason
		Native: func(words string) []json.RawMessage {
			return []json.RawMessage{json.RawMessage(`{"role":"assistant", "content":` + llmtest.Quote(words) + `}`)}
		},
		Usage: costs.Usage{
			Input: 8, CacheRead: 20, CacheWrite5m: 2, Output: 9, Reasoning: 4, Tier: "default", Source: costs.Reported,
		},
		Error:   func(kind llm.Kind, message string) string { return data(errorJSON(kind, message)) },
		Refusal: errorJSON,
		Hoards: map[string]func(int) string{
			"calls": func(i int) string {
				return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"look"}}]}}]}`, i, i))
			},
			"fields of a call": func(i int) string {
				return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"x%d":%q}]}}]}`, i, long))
			},
			"details of reasoning": func(i int) string {
				return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"reasoning_details":[{"index":%d,"type":"x","signature":%q}]}}]}`, i, long))
			},
		},
	}})
}

var long = strings.Repeat("x", 100<<10)

func open(t testing.TB, e llmtest.Endpoint) llm.Model {
	m, err := openai.New(openai.Options{
		Provider: "main", Model: "gpt-5.6-sol", APIKey: e.Key, BaseURL: e.URL, HTTPClient: e.Client,
		FirstByteTimeout: e.FirstByte, IdleTimeout: e.Idle, TotalTimeout: e.Total,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func errorJSON(kind llm.Kind, message string) string {
	code := map[llm.Kind]string{
		llm.Overloaded: "server_overloaded", llm.RateLimited: "rate_limit_exceeded", llm.Server: "server_error",
		llm.Auth: "invalid_api_key", llm.Quota: "insufficient_quota", llm.InvalidRequest: "",
		llm.ContextLength: "context_length_exceeded",
	}[kind]
	return fmt.Sprintf(`{"error":{"message":%s,"type":"some_error","param":null,"code":%q}}`, llmtest.Quote(message), code)
}

func data(s string) string { return "data: " + s + "\n\n" }

// chunk is a chunk with one choice; each has another id, as one server does.
func chunk(delta, finish string) string {
	return data(fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1,"model":"gpt-5.6-sol-2026","service_tier":"default","error":null,"choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`, len(delta), delta, finish))
}

const usage = `{"prompt_tokens":30,"completion_tokens":9,"total_tokens":39,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":4}}`

func end(reason string) []string {
	return []string{
		chunk(`{}`, llmtest.Quote(reason)),
		data(`{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1,"model":"gpt-5.6-sol-2026","service_tier":"default","choices":[],"usage":` + usage + `}`),
		data("[DONE]"),
	}
}

func text(pieces ...string) []string {
	out := []string{chunk(`{"role":"assistant","content":"","refusal":null}`, "null")}
	for _, p := range pieces {
		out = append(out, chunk(`{"content":`+llmtest.Quote(p)+`}`, "null"))
	}
	return append(out, end("stop")...)
}

func silent(s string) []string {
	return []string{chunk(`{"role":"assistant","content":`+llmtest.Quote(s)+`}`, "null"), chunk(`{}`, `"stop"`), data("[DONE]")}
}

func thinking(thought, said string) []string {
	return append([]string{
		chunk(`{"role":"assistant","content":null,"reasoning_content":null}`, "null"),
		chunk(`{"reasoning_content":`+llmtest.Quote(thought)+`}`, "null"),
		chunk(`{"content":`+llmtest.Quote(said)+`,"reasoning_content":null}`, "null"),
	}, end("stop")...)
}

func tool(id, name string, pieces ...string) []string {
	out := []string{chunk(fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, id, name), "null")}
	for _, p := range pieces {
		out = append(out, chunk(`{"tool_calls":[{"index":0,"function":{"arguments":`+llmtest.Quote(p)+`}}]}`, "null"))
	}
	return append(out, end("tool_calls")...)
}
