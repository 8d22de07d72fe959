package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/simulators/model"

	"github.com/google/go-cmp/cmp"
)

// spoken is an answer in the words of its protocol.
type spoken struct {
	Text   string
	Calls  []model.Block // only ID, Name and Input
	Finish string
	Usage  model.Usage // only Input, Output and Reasoning
	back   []any       // what the client sends back of it
}

// converse sends a request and reads the answer, from its events if stream.
func (h *fixture) converse(path string, q map[string]any, stream bool) spoken {
	h.t.Helper()
	q = maps.Clone(q)
	q["stream"] = stream
	if path == completions && stream {
		q["stream_options"] = map[string]any{"include_usage": true}
	}
	status, _, body, err := h.post(path, compact(h.t, q))
	if status != http.StatusOK || err != nil {
		h.t.Fatalf("%d, %v: %s", status, err, body)
	}
	if stream {
		_, data := events(h.t, body)
		body = compact(h.t, map[string]func([]map[string]any) any{
			messages: wholeMessage, completions: wholeCompletion, answers: func(data []map[string]any) any { return data[len(data)-1]["response"] },
		}[path](data))
	}
	return map[string]func(*testing.T, string) spoken{messages: readMessage, completions: readCompletion, answers: readResponse}[path](h.t, body)
}

// wholeMessage puts a message of Anthropic's together from its events.
func wholeMessage(data []map[string]any) any {
	var m map[string]any
	var content []any
	var input string
	for _, e := range data {
		switch e["type"] {
		case "message_start":
			m = e["message"].(map[string]any)
		case "content_block_start":
			content, input = append(content, e["content_block"]), ""
		case "content_block_delta":
			block := content[len(content)-1].(map[string]any)
			for key, v := range e["delta"].(map[string]any) {
				switch key {
				case "type":
				case "partial_json":
					input += v.(string)
				default:
					block[key] = fmt.Sprint(block[key], v)
				}
			}
		case "content_block_stop":
			if input != "" {
				content[len(content)-1].(map[string]any)["input"] = json.RawMessage(input)
			}
		case "message_delta":
			m["stop_reason"] = e["delta"].(map[string]any)["stop_reason"]
			maps.Copy(m["usage"].(map[string]any), e["usage"].(map[string]any))
		}
	}
	m["content"] = content
	return m
}

func readMessage(t *testing.T, body string) (s spoken) {
	var m struct {
		Content []json.RawMessage
		Reason  string `json:"stop_reason"`
		Usage   struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Detail struct {
				Thinking int64 `json:"thinking_tokens"`
			} `json:"output_tokens_details"`
		}
	}
	decode(t, body, &m)
	s.Finish, s.Usage = m.Reason, model.Usage{Input: m.Usage.Input, Output: m.Usage.Output, Reasoning: m.Usage.Detail.Thinking}
	for _, raw := range m.Content {
		var b struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
		decode(t, string(raw), &b)
		s.Text += b.Text
		if b.Type == "tool_use" {
			s.Calls = append(s.Calls, model.Block{ID: b.ID, Name: b.Name, Input: string(b.Input)})
		}
	}
	s.back = []any{map[string]any{"role": "assistant", "content": m.Content}}
	return s
}

// wholeCompletion puts an answer of Chat Completions together from its chunks.
func wholeCompletion(data []map[string]any) any {
	message := map[string]any{"role": "assistant", "content": ""}
	var calls []map[string]any
	var finish, usage any
	for _, chunk := range data[:len(data)-1] { // [DONE]
		usage = chunk["usage"]
		for _, c := range chunk["choices"].([]any) {
			choice := c.(map[string]any)
			finish = choice["finish_reason"]
			delta := choice["delta"].(map[string]any)
			if text, ok := delta["content"].(string); ok {
				message["content"] = message["content"].(string) + text
			}
			list, _ := delta["tool_calls"].([]any)
			for _, l := range list {
				piece := l.(map[string]any)
				f := piece["function"].(map[string]any)
				if int(piece["index"].(float64)) == len(calls) {
					calls = append(calls, map[string]any{"id": piece["id"], "type": "function", "function": f})
					continue
				}
				whole := calls[len(calls)-1]["function"].(map[string]any)
				whole["arguments"] = fmt.Sprint(whole["arguments"], f["arguments"])
			}
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": finish}}, "usage": usage}
}

func readCompletion(t *testing.T, body string) (s spoken) {
	var m struct {
		Choices []struct {
			Message json.RawMessage
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Input  int64 `json:"prompt_tokens"`
			Output int64 `json:"completion_tokens"`
			Detail struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	decode(t, body, &m)
	var message struct {
		Content string
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	decode(t, string(m.Choices[0].Message), &message)
	s.Text, s.Finish = message.Content, m.Choices[0].Finish
	s.Usage = model.Usage{Input: m.Usage.Input, Output: m.Usage.Output, Reasoning: m.Usage.Detail.Reasoning}
	for _, c := range message.Calls {
		s.Calls = append(s.Calls, model.Block{ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
	}
	back := map[string]any{"role": "assistant", "content": message.Content}
	if len(message.Calls) > 0 {
		var raw map[string]json.RawMessage
		decode(t, string(m.Choices[0].Message), &raw)
		back["tool_calls"] = raw["tool_calls"]
	}
	s.back = []any{back}
	return s
}

func readResponse(t *testing.T, body string) (s spoken) {
	var m struct {
		Status string
		Output []json.RawMessage
		Usage  struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Detail struct {
				Reasoning int64 `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		}
	}
	decode(t, body, &m)
	s.Finish, s.Usage = m.Status, model.Usage{Input: m.Usage.Input, Output: m.Usage.Output, Reasoning: m.Usage.Detail.Reasoning}
	for _, raw := range m.Output {
		var item struct {
			Type, Name, Arguments string
			CallID                string `json:"call_id"`
			Content               []struct{ Text string }
		}
		decode(t, string(raw), &item)
		for _, part := range item.Content {
			s.Text += part.Text
		}
		if item.Type == "function_call" {
			s.Calls = append(s.Calls, model.Block{ID: item.CallID, Name: item.Name, Input: item.Arguments})
		}
		s.back = append(s.back, raw)
	}
	return s
}

func decode(t *testing.T, body string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

func TestARichAnswerIsToldInEachProtocolAndMayGoBack(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"type": "object", "properties": map[string]any{}}
	tools := func(tool func(name string) any) []any { return []any{tool("a"), tool("b")} }
	for path, c := range map[string]struct {
		request map[string]any
		list    string // the key of the conversation
		finish  [2]string
		results func(calls []model.Block) []any
	}{
		messages: {
			map[string]any{
				"model": "m", "max_tokens": 4000, "thinking": map[string]any{"type": "adaptive"},
				"tools": tools(func(name string) any { return map[string]any{"name": name, "input_schema": schema} }),
			},
			"messages",
			[2]string{"tool_use", "end_turn"},
			func(calls []model.Block) []any {
				text := []any{map[string]any{"type": "text", "text": "two"}}
				return []any{map[string]any{"role": "user", "content": []any{
					map[string]any{"type": "tool_result", "tool_use_id": calls[0].ID, "content": "one"},
					map[string]any{"type": "tool_result", "tool_use_id": calls[1].ID, "content": text, "is_error": true},
				}}}
			},
		},
		completions: {
			map[string]any{"model": "m", "tools": tools(func(name string) any {
				return map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": schema}}
			})},
			"messages",
			[2]string{"tool_calls", "stop"},
			func(calls []model.Block) []any {
				return []any{
					map[string]any{"role": "tool", "tool_call_id": calls[0].ID, "content": "one"},
					map[string]any{"role": "tool", "tool_call_id": calls[1].ID, "content": "two"},
				}
			},
		},
		answers: {
			map[string]any{
				"model": "m", "store": false, "include": []string{"reasoning.encrypted_content"}, "reasoning": map[string]any{"summary": "auto"},
				"tools": tools(func(name string) any {
					return map[string]any{"type": "function", "name": name, "parameters": schema, "strict": false}
				}),
			},
			"input",
			[2]string{"completed", "completed"},
			func(calls []model.Block) []any {
				return []any{
					map[string]any{"type": "function_call_output", "call_id": calls[0].ID, "output": "one"},
					map[string]any{"type": "function_call_output", "call_id": calls[1].ID, "output": "two"},
				}
			},
		},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprint(path, stream), func(t *testing.T) {
				t.Parallel()
				h := start(t, model.Options{Brain: model.Scripted(rich(), model.Reply(model.Say("done")))})
				q := maps.Clone(c.request)
				conversation := []any{map[string]any{"role": "user", "content": "hello there"}}
				q[c.list] = conversation
				first := h.converse(path, q, stream)
				if first.Text != rich().Blocks[2].Text || first.Finish != c.finish[0] || len(first.Calls) != 2 {
					t.Fatalf("%+v", first)
				}
				for i, call := range first.Calls {
					if want := rich().Blocks[3+i]; call.ID == "" || call.Name != want.Name || call.Input != want.Input {
						t.Errorf("%+v", call)
					}
				}
				e := h.last()
				want := model.Usage{Input: e.Usage.Input, Output: e.Usage.Output, Reasoning: e.Usage.Reasoning}
				if diff := cmp.Diff(want, first.Usage); diff != "" || want.Reasoning == 0 || *e.Reported != e.Usage {
					t.Errorf("bill %+v\n%s", e, diff)
				}
				q[c.list] = append(append(conversation, first.back...), c.results(first.Calls)...)
				if second := h.converse(path, q, stream); second.Text != "done" || second.Finish != c.finish[1] {
					t.Errorf("after the tools: %+v", second)
				}
			})
		}
	}
}

func TestACancelledClientIsNoticedAndBilledForWhatWasSent(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: func(context.Context, *model.Prompt) model.Answer {
		return model.Answer{Blocks: []model.Block{model.Say("12345678 12345678 never")}, Pace: time.Hour}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := h.send(ctx, messages, ask(messages, "hello there", true))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	received := ""
	for piece := make([]byte, 256); !strings.Contains(received, "text_delta"); {
		n, err := res.Body.Read(piece)
		if received += string(piece[:n]); err != nil {
			t.Fatalf("%v after %s", err, received)
		}
	}
	cancel()
	e := <-h.served
	want := model.Usage{Input: 3, Output: 3} // ceil(6 × 9/23)
	if e.Outcome != model.Aborted || e.Events != 4 || e.Usage != want || e.Reported == nil || e.Reported.Output != 1 {
		t.Errorf("after %s: %+v", received, e)
	}
	if b := h.Bill(); b.Open != 0 || b.Usage != want {
		t.Errorf("bill %+v", b)
	}
}
