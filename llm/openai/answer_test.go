package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

func answer(parts ...string) []string { return append(parts, data("[DONE]")) }

func greeting() llm.Request {
	return llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}}
}

func TestThinkingIsFoundUnderAnyName(t *testing.T) { // E01, TX08
	t.Parallel()
	for _, c := range []struct {
		name  string
		delta []string
		want  string
	}{
		{"reasoning_content", []string{`{"reasoning_content":"a"}`, `{"reasoning_content":"b"}`}, "ab"},
		{"reasoning", []string{`{"reasoning":"a"}`}, "a"},
		{"thinking", []string{`{"thinking":"a"}`}, "a"},
		{"thought", []string{`{"my_thoughts":"a"}`}, "a"},
		{"in capitals", []string{`{"ReasoningText":"a"}`}, "a"},
		{"the same under two names counts once", []string{`{"reasoning":"a","reasoning_content":"a"}`}, "a"},
		{"a list beside a text counts once", []string{`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`}, "a"},
		{"a list alone", []string{`{"reasoning_details":[{"type":"reasoning.summary","summary":"a"}]}`, `{"reasoning_details":[{"type":"reasoning.text","text":"b"}]}`}, "ab"},
		{"an object", []string{`{"thinking":{"content":"a"}}`}, "a"},
		{"typed content", []string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"said"}]}`}, "a"},
		{"null", []string{`{"reasoning":null,"reasoning_content":null,"thinking":null}`}, ""},
		{"placeholders", []string{`{"reasoning":"","reasoning_details":[],"thinking":{},"thought":0,"reasoning_done":false}`}, ""},
		{"null between", []string{`{"reasoning":"a"}`, `{"reasoning":null}`, `{"reasoning":"b"}`}, "ab"},
		{"another field", []string{`{"reason":"a","padding":"b"}`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var chunks []string
			for _, d := range c.delta {
				chunks = append(chunks, chunk(d, "null"))
			}
			chunks = append(chunks, chunk(`{"content":"said"}`, `"stop"`))
			resp, _, err := llmtest.Ask(t, newModel(t, serve(t, answer(chunks...)), openai.Options{}), greeting())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if r, ok := resp.Message.Parts[0].(transcript.Reasoning); ok {
				got = r.Thinking
			}
			if got != c.want || !strings.HasSuffix(resp.Message.Text(), "said") {
				t.Errorf("%q: %+v", got, resp.Message.Parts)
			}
		})
	}
}

func usageChunk(u string) string {
	return data(`{"id":"x","model":"m","choices":[],"usage":` + u + `}`)
}

func amount(n int64) *costs.Amount {
	a := costs.Amount(n)
	return &a
}

// firstday P1: Groq's compound models say the usage in a field of their own.
func TestUsageOfGroq(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chunks []string
		want   int64
	}{
		"in its own field only":   {[]string{data(`{"id":"x","model":"m","choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":900,"completion_tokens":5}}}`)}, 900},
		"in both":                 {[]string{data(`{"id":"x","model":"m","choices":[],"x_groq":{"usage":{"prompt_tokens":1,"completion_tokens":1}},"usage":{"prompt_tokens":900,"completion_tokens":5}}`)}, 900},
		"a field without it":      {[]string{data(`{"id":"x","model":"m","choices":[],"x_groq":{"id":"r"}}`), usageChunk(`{"prompt_tokens":900,"completion_tokens":5}`)}, 900},
		"a field of another sort": {[]string{data(`{"id":"x","model":"m","choices":[],"x_groq":"r"}`), usageChunk(`{"prompt_tokens":900,"completion_tokens":5}`)}, 900},
	} {
		resp, _, err := llmtest.Ask(t, newModel(t, serve(t, answer(append([]string{chunk(`{"content":"a"}`, `"stop"`)}, c.chunks...)...)), openai.Options{}), greeting())
		if err != nil || resp.Usage.Input != c.want || resp.Usage.Output != 5 || resp.Usage.Source != costs.Reported {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

func TestUsageBecomesDisjointBuckets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, usage string
		want        costs.Usage
	}{
		{"plain", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`, costs.Usage{Input: 10, Output: 5}},
		{
			"cached and written are part of the prompt, reasoning of the completion", usage,
			costs.Usage{Input: 8, CacheRead: 20, CacheWrite5m: 2, Output: 9, Reasoning: 4},
		},
		{
			"reasoning beside the completion, as the total shows", // a recorded answer of xAI
			`{"prompt_tokens":468,"completion_tokens":82,"total_tokens":870,"completion_tokens_details":{"reasoning_tokens":320}}`,
			costs.Usage{Input: 468, Output: 402, Reasoning: 320},
		},
		{
			"more reasoning than completion, but the total says it is inside",
			`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":7}}`,
			costs.Usage{Input: 10, Output: 5, Reasoning: 5},
		},
		{
			"more reasoning than completion, and no total",
			`{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":7}}`,
			costs.Usage{Input: 10, Output: 12, Reasoning: 7},
		},
		{
			"reasoning that only the total shows", // a recorded answer of a gateway to Gemini
			`{"prompt_tokens":20,"completion_tokens":198,"total_tokens":623}`,
			costs.Usage{Input: 20, Output: 603, Reasoning: 405},
		},
		{"a total below its parts", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":5}`, costs.Usage{Input: 10, Output: 5}},
		{"details that are null", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":null,"completion_tokens_details":null}`, costs.Usage{Input: 10, Output: 5}},
		{"DeepSeek's cache", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_cache_hit_tokens":6}`, costs.Usage{Input: 4, CacheRead: 6, Output: 5}},
		{"more cached than there was", `{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":12}}`, costs.Usage{CacheRead: 12, Output: 5}},
		{"OpenRouter's charge", `{"prompt_tokens":10,"completion_tokens":5,"cost":0.00123456789}`, costs.Usage{Input: 10, Output: 5, Charged: amount(1_234_567_890)}},
		{"a charge that a float would round", `{"prompt_tokens":10,"completion_tokens":5,"cost":1234.567890123456}`, costs.Usage{Input: 10, Output: 5, Charged: amount(1_234_567_890_123_456)}},
		{"a charge with an exponent", `{"prompt_tokens":10,"completion_tokens":5,"cost":1.5e-05}`, costs.Usage{Input: 10, Output: 5, Charged: amount(15_000_000)}},
		{"a charge below a pico-dollar", `{"prompt_tokens":10,"completion_tokens":5,"cost":5e-13}`, costs.Usage{Input: 10, Output: 5, Charged: amount(1)}},
		{"Perplexity's charge", `{"prompt_tokens":7,"completion_tokens":149,"total_tokens":156,"cost":{"input_tokens_cost":0.00001,"request_cost":0.005,"total_cost":0.006}}`, costs.Usage{Input: 7, Output: 149, Charged: amount(6_000_000_000)}},
		{"a charge that is no number", `{"prompt_tokens":10,"completion_tokens":5,"cost":["?"],"cost_details":{"upstream_inference_cost":null}}`, costs.Usage{Input: 10, Output: 5}},
		{"nothing charged", `{"prompt_tokens":10,"completion_tokens":5,"cost":0}`, costs.Usage{Input: 10, Output: 5, Charged: amount(0)}},
		{"a fee beside the customer's own key", `{"prompt_tokens":10,"completion_tokens":5,"cost":0.1,"is_byok":true,"cost_details":{"upstream_inference_cost":2}}`, costs.Usage{Input: 10, Output: 5, Charged: amount(2_100_000_000_000)}},
		{"a hostile charge", `{"prompt_tokens":10,"completion_tokens":5,"cost":1e999999999}`, costs.Usage{Input: 10, Output: 5}},
		{"a negative charge", `{"prompt_tokens":10,"completion_tokens":5,"cost":-1}`, costs.Usage{Input: 10, Output: 5}},
		{"a charge of null", `{"prompt_tokens":10,"completion_tokens":5,"cost":null}`, costs.Usage{Input: 10, Output: 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp, _, err := llmtest.Ask(t, newModel(t, serve(t, answer(chunk(`{"content":"a"}`, `"stop"`), usageChunk(c.usage))), openai.Options{}), greeting())
			if err != nil {
				t.Fatal(err)
			}
			c.want.Source, c.want.Tier = costs.Reported, "default"
			if diff := cmp.Diff(c.want, resp.Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageThatComesWithEveryChunkCountsOnce(t *testing.T) {
	t.Parallel()
	running := func(n int) string {
		return data(fmt.Sprintf(`{"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":%d}}`, n))
	}
	s := serve(t, answer(running(1), running(2), running(3), chunk(`{}`, `"stop"`)))
	resp, _, err := llmtest.Ask(t, newModel(t, s, openai.Options{}), greeting())
	if err != nil || resp.Usage.Output != 3 || resp.Usage.Input != 10 {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestToolCallsAreFoundHoweverTheyAreNumbered(t *testing.T) {
	t.Parallel()
	full := func(index, id, name, args string) string {
		s := ""
		if index != "" {
			s = `"index":` + index + `,`
		}
		return fmt.Sprintf(`{%s"id":%s,"type":"function","function":{"name":%q,"arguments":%s}}`, s, id, name, args)
	}
	call := func(calls ...string) string {
		return chunk(`{"tool_calls":[`+strings.Join(calls, ",")+`]}`, "null")
	}
	for _, c := range []struct {
		name   string
		chunks []string
		want   []string // id name input; id * is any
	}{
		{
			"two, interleaved",
			[]string{call(full("0", `"a"`, "x", `""`), full("1", `"b"`, "y", `""`)), call(`{"index":1,"function":{"arguments":"{\"q\":"}}`), call(`{"index":0,"function":{"arguments":"{}"}}`), call(`{"index":1,"function":{"arguments":"2}"}}`)},
			[]string{"a x {}", `b y {"q":2}`},
		},
		{"every call is number 0", []string{call(full("0", `"a"`, "x", `"{}"`)), call(full("0", `"b"`, "y", `"{}"`))}, []string{"a x {}", "b y {}"}},
		{"no numbers", []string{call(full("", `"a"`, "x", `"{"`)), call(`{"function":{"arguments":"}"}}`), call(full("", `"b"`, "y", `"{}"`))}, []string{"a x {}", "b y {}"}},
		{"the id repeated in every piece", []string{call(full("0", `"a"`, "x", `"{"`)), call(full("0", `"a"`, "", `"}"`))}, []string{"a x {}"}},
		{"no ids", []string{call(full("0", `""`, "x", `"{}"`), full("1", `null`, "y", `"{}"`))}, []string{"* x {}", "* y {}"}},
		{"the same id twice", []string{call(full("0", `"call_0"`, "x", `"{}"`)), call(full("1", `"call_0"`, "y", `"{}"`))}, []string{"call_0 x {}", "* y {}"}},
		{"arguments as an object", []string{call(full("0", `"a"`, "x", `{"q":1}`))}, []string{`a x {"q":1}`}},
		{"no arguments", []string{call(full("0", `"a"`, "x", `""`))}, []string{"a x {}"}},
		{"null instead of calls", []string{chunk(`{"tool_calls":null,"content":"a"}`, "null")}, nil},
	} {
		for _, reason := range []string{"tool_calls", "stop"} { // some servers say stop
			t.Run(c.name+", "+reason, func(t *testing.T) {
				t.Parallel()
				chunks := append(slices.Clone(c.chunks), chunk(`{}`, llmtest.Quote(reason)))
				resp, _, err := llmtest.Ask(t, newModel(t, serve(t, answer(chunks...)), openai.Options{}), greeting())
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				seen := map[string]bool{}
				for i, call := range resp.Message.Calls() {
					id := call.ID
					if id == "" || seen[id] || !call.Finished {
						t.Errorf("%+v", call)
					}
					seen[id] = true
					if i < len(c.want) && strings.HasPrefix(c.want[i], "*") {
						id = "*"
					}
					got = append(got, id+" "+call.Name+" "+call.Input)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if len(c.want) > 0 && resp.Finish != transcript.ToolUse {
					t.Errorf("finish %s", resp.Finish)
				}
			})
		}
	}
}

func TestEveryFinishReasonHasAnEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, delta, reason string
		want                transcript.FinishReason
		warns               bool
	}{
		{"stop", `{"content":"a"}`, "stop", transcript.EndTurn, false},
		{"length", `{"content":"a"}`, "length", transcript.MaxTokens, false},
		{"content_filter", `{"content":"a"}`, "content_filter", transcript.Refusal, true},
		{"a refusal", `{"refusal":"no"}`, "stop", transcript.Refusal, false},
		{"unknown", `{"content":"a"}`, "tired", transcript.EndTurn, true},
		{"tool_calls without any", `{"content":"a"}`, "tool_calls", transcript.EndTurn, false},
		{"length within a call", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"q\":"}}]}`, "length", transcript.MaxTokens, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answer(chunk(c.delta, "null"), chunk(`{}`, llmtest.Quote(c.reason)), usageChunk(usage)))
			resp, warnings, err := llmtest.Ask(t, newModel(t, s, openai.Options{}), greeting())
			if err != nil {
				t.Fatal(err)
			}
			if resp.Finish != c.want || c.warns != (len(warnings) > 0) {
				t.Errorf("%s, %q", resp.Finish, warnings)
			}
			for _, call := range resp.Message.Calls() {
				if call.Finished {
					t.Error("a call with half its arguments is finished")
				}
			}
		})
	}
}

func TestStrangeEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer []string
		want   llm.Kind
	}{
		{"no choice at all", answer(data(`{"id":"x","choices":[]}`)), llm.Empty}, // B08
		{"only [DONE]", answer(), llm.Empty},
		{"no finish reason", answer(chunk(`{"content":"a"}`, "null")), llm.Malformed},
		{"an error as the finish reason", answer(chunk(`{"content":"a"}`, `"error"`)), llm.Server},
		{"an answer that was broken off", answer(chunk(`{"content":"a"}`, `"insufficient_system_resource"`)), llm.Server},
		{"an error with a number", []string{chunk(`{"content":""}`, "null"), data(`{"id":"x","error":{"code":502,"message":"upstream"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`)}, llm.Server},
		{"an error with the number of a limit", []string{data(`{"error":{"code":429,"message":"slow down"}}`)}, llm.RateLimited},
		{"an error with the number as a text", []string{data(`{"error":{"code":"402","message":"pay"}}`)}, llm.Quota},
		{"an error that is a text", []string{data(`{"error":"boom"}`)}, llm.Server},
		{"a call without a name", answer(chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`, `"tool_calls"`)), llm.Malformed},
		{"content of an unknown shape", []string{chunk(`{"content":5}`, "null")}, llm.Malformed},
		{"calls of an unknown shape", []string{chunk(`{"tool_calls":"look"}`, "null")}, llm.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := llmtest.Ask(t, newModel(t, serve(t, c.answer), openai.Options{}), greeting())
			if fault, ok := errors.AsType[*llm.Error](err); !ok || fault.Kind != c.want || !fault.Sent {
				t.Errorf("%+v", err)
			}
		})
	}
	t.Run("an error document with status 200", func(t *testing.T) {
		t.Parallel()
		s := serveFunc(t, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}`))
		})
		_, _, err := llmtest.Ask(t, newModel(t, s, openai.Options{}), greeting())
		if fault, ok := errors.AsType[*llm.Error](err); !ok || fault.Kind != llm.Quota || fault.Retryable() {
			t.Errorf("%+v", err)
		}
	})
	t.Run("a server that leaves out [DONE]", func(t *testing.T) {
		t.Parallel()
		whole := text("ab")
		resp, _, err := llmtest.Ask(t, newModel(t, serve(t, whole[:len(whole)-1]), openai.Options{}), greeting())
		if err != nil || resp.Usage.Source != costs.Reported {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

func TestReasoningGoesBackWithItsSignature(t *testing.T) { // E04
	t.Parallel()
	details := func(s string) string { return chunk(`{"content":"","reasoning_details":[`+s+`]}`, "null") }
	s := serve(t, answer(
		details(`{"type":"reasoning.text","text":"a<","index":0,"format":"anthropic-claude-v1","signature":null}`),
		details(`{"type":"reasoning.text","text":"b","index":0}`),
		details(`{"type":"reasoning.text","signature":"sig","index":0}`),
		details(`{"type":"reasoning.encrypted","data":"ENC","index":1}`),
		chunk(`{"reasoning_content":"so"}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"id":"functions.look:0","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"TS"}}}]}`, `"tool_calls"`),
	), text("ok"))
	m := newModel(t, s, openai.Options{})
	r := greeting()
	resp, _, err := llmtest.Ask(t, m, r)
	if err != nil {
		t.Fatal(err)
	}
	id := resp.Message.Calls()[0].ID
	r.Messages = append(r.Messages, resp.Message, said(transcript.Tool, transcript.ToolResult{ToolCallID: id, Content: "seen"}))
	if _, _, err := llmtest.Ask(t, m, r); err != nil {
		t.Fatal(err)
	}
	var sent, want any
	if err := json.Unmarshal(s.body(1).Messages[1], &sent); err != nil {
		t.Fatal(err)
	}
	err = json.Unmarshal([]byte(`{"role":"assistant","reasoning_content":"so","reasoning_details":[
		{"type":"reasoning.text","text":"a<b","index":0,"format":"anthropic-claude-v1","signature":"sig"},
		{"type":"reasoning.encrypted","data":"ENC","index":1}],
		"tool_calls":[{"id":`+llmtest.Quote(id)+`,"type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"TS"}}}]}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
	if string(s.body(1).Messages[1]) != string(resp.Message.Native.Blocks[0]) {
		t.Errorf("changed on the way: %s", s.body(1).Messages[1])
	}
	if strings.ContainsAny(id, ".:") {
		t.Errorf("id %q", id)
	}

	for name, other := range map[string]openai.Options{"another model": {Model: "other"}, "a server that refuses it": {DropReasoning: true}} {
		if _, _, err := llmtest.Ask(t, newModel(t, s, other), r); err != nil {
			t.Fatal(err)
		}
		if raw := string(s.last().Messages[1]); strings.Contains(raw, "reasoning") || !strings.Contains(raw, id) {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

// A connection may break behind a whole answer.
func TestAnAnswerIsWholeBehindItsFinishReason(t *testing.T) {
	t.Parallel()
	whole := text("ab")
	for name, c := range map[string]struct {
		without int // events at the end
		source  costs.Source
	}{
		"with its usage": {1, costs.Reported},
		"without it":     {2, costs.Estimated},
	} {
		s := serveFunc(t, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Join(whole[:len(whole)-c.without], ""))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // hangs up without the end of the body
		})
		resp, _, err := llmtest.Ask(t, newModel(t, s, openai.Options{}), greeting())
		if err != nil || resp.Message.Text() != "ab" || resp.Finish != transcript.EndTurn || resp.Usage.Source != c.source || resp.Usage.Output == 0 {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}
