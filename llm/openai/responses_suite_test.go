package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
)

func TestResponsesKeepThePromisesOfAModel(t *testing.T) { // D09
	t.Parallel()
	llmtest.Run(t, llmtest.Adapter{
		Open: func(t testing.TB, e llmtest.Endpoint) llm.Model {
			m, err := openai.NewResponses(openai.Options{
				Provider: "main", Model: "gpt-5.6-sol", APIKey: e.Key, BaseURL: e.URL, HTTPClient: e.Client,
				FirstByteTimeout: e.FirstByte, IdleTimeout: e.Idle, TotalTimeout: e.Total,
			})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Wire: llmtest.Wire{
			Text: func(pieces ...string) []string { return respond(saying(0, pieces...)) },
			Native: func(words string) []json.RawMessage {
				return []json.RawMessage{
					json.RawMessage(`{"type":"reasoning", "id":"r","summary":[],"encrypted_content":"ENC"}`),
					json.RawMessage(`{"type":"message", "role":"assistant","content":[{"type":"output_text","text":` + llmtest.Quote(words) + `}]}`),
				}
			},
			Thinking: func(thought, text string) []string {
				return respond(reasoning(0, "ENC", thought), saying(1, text))
			},
			Tool:    func(id, name string, pieces ...string) []string { return respond(calling(0, id, name, pieces...)) },
			Silent:  func(text string) []string { return ending("completed", `"usage":null`, saying(0, text)) },
			Visible: 4, // created, in_progress, and the empty item and part
			Usage: costs.Usage{
				Input: 8, CacheRead: 20, CacheWrite5m: 2, Output: 9, Reasoning: 4, Tier: "default", Source: costs.Reported,
			},
			Error: func(kind llm.Kind, message string) string {
				return event("error", fmt.Sprintf(`"code":%q,"message":%s,"param":null`, errorCode(kind), llmtest.Quote(message)))
			},
			Refusal: errorJSON,
			Hoards: map[string]func(int) string{ // item 0 is a message
				"items": func(i int) string {
					return event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"web_search_call","id":"i%d"}`, i+1, i))
				},
				"items that are done": func(i int) string {
					return event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":{"type":"web_search_call","id":"i%d","x":%q}`, i+1, i, long))
				},
			},
		},
	})
}

func errorCode(kind llm.Kind) string {
	var v struct{ Error struct{ Code string } }
	if err := json.Unmarshal([]byte(errorJSON(kind, "")), &v); err != nil {
		panic(err)
	}
	return v.Error.Code
}

// event is an event of the stream with these fields.
func event(kind, fields string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":7,%s}\n\n", kind, kind, fields)
}

// output is an item with the events that bring it.
type output struct {
	item   string // as it is when it is done
	events []string
}

func place(index int, id string) string {
	return fmt.Sprintf(`"output_index":%d,"item_id":%q`, index, id)
}

func added(index int, item string) string {
	return event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item))
}

func done(index int, item string) string {
	return event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item))
}

func messageItem(text string) string {
	return `{"type": "message",  "id":"msg_1","status":"completed","phase":"final_answer","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":` + llmtest.Quote(text) + `}],"role":"assistant"}`
}

func saying(index int, pieces ...string) output {
	at := place(index, "msg_1") + `,"content_index":0`
	o := output{item: messageItem(strings.Join(pieces, ""))}
	o.events = []string{
		added(index, `{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`),
		event("response.content_part.added", at+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`),
	}
	for _, p := range pieces {
		o.events = append(o.events, event("response.output_text.delta", at+`,"logprobs":[],"obfuscation":"xyz","delta":`+llmtest.Quote(p)))
	}
	o.events = append(o.events, event("response.output_text.done", at+`,"text":"…"`), done(index, o.item))
	return o
}

func reasoningItem(encrypted string, summaries ...string) string {
	var parts []string
	for _, s := range summaries {
		parts = append(parts, `{"type":"summary_text","text":`+llmtest.Quote(s)+`}`)
	}
	return `{"id":"rs_1","type":"reasoning", "encrypted_content":` + llmtest.Quote(encrypted) + `,"summary":[` + strings.Join(parts, ",") + `]}`
}

func reasoning(index int, encrypted string, summaries ...string) output {
	o := output{item: reasoningItem(encrypted, summaries...)}
	o.events = []string{added(index, `{"id":"rs_1","type":"reasoning","encrypted_content":"half","summary":[]}`)}
	for i, s := range summaries {
		at := fmt.Sprintf(`%s,"summary_index":%d`, place(index, "rs_1"), i)
		o.events = append(o.events, event("response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`),
			event("response.reasoning_summary_text.delta", at+`,"delta":`+llmtest.Quote(s)))
	}
	o.events = append(o.events, done(index, o.item))
	return o
}

func callItem(id, name, arguments, status string) string {
	return fmt.Sprintf(`{"id":"fc_%s","type":"function_call","status":%q,"arguments":%s,"call_id":%q,"name":%q}`, id, status, llmtest.Quote(arguments), id, name)
}

func calling(index int, id, name string, pieces ...string) output {
	at := place(index, "fc_"+id)
	o := output{item: callItem(id, name, strings.Join(pieces, ""), "completed")}
	o.events = []string{added(index, callItem(id, name, "", "in_progress"))}
	for _, p := range pieces {
		o.events = append(o.events, event("response.function_call_arguments.delta", at+`,"delta":`+llmtest.Quote(p)))
	}
	o.events = append(o.events, event("response.function_call_arguments.done", at+`,"arguments":`+llmtest.Quote(strings.Join(pieces, ""))), done(index, o.item))
	return o
}

const responseUsage = `{"input_tokens":30,"input_tokens_details":{"cached_tokens":20,"cache_write_tokens":2},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":39}`

// state is a response as the events at its ends have it.
func state(status, items, more string) string {
	return fmt.Sprintf(`"response":{"id":"resp_1","object":"response","status":%q,"model":"gpt-5.6-sol-2026","error":null,"incomplete_details":null,"output":[%s],"service_tier":"default",%s}`, status, items, more)
}

// ending is an answer of these items that ends with a status.
func ending(status, more string, items ...output) []string {
	events := []string{
		event("response.created", state("in_progress", "", `"usage":null`)),
		event("response.in_progress", state("in_progress", "", `"usage":null`)),
	}
	var whole []string
	for _, o := range items {
		events, whole = append(events, o.events...), append(whole, o.item)
	}
	return append(events, event("response."+status, state(status, strings.Join(whole, ","), more)))
}

func respond(items ...output) []string {
	return ending("completed", `"usage":`+responseUsage, items...)
}

func newResponses(t *testing.T, s server, o openai.Options) *openai.Responses {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.Provider, o.HTTPClient, o.BaseURL = "main", &http.Client{Transport: transport}, s.URL+"/api/v1"
	if o.Model == "" {
		o.Model = "gpt-5.6-sol"
	}
	m, err := openai.NewResponses(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// events asks and gives what the stream yields.
func events(t *testing.T, m llm.Model, r llm.Request) (all []llm.Event, fault error) {
	t.Helper()
	for e, err := range m.Stream(context.WithoutCancel(t.Context()), r) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}
