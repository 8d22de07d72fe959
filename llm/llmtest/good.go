package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/llm"
	"parley/transcript"
)

// requirements D01, D02, D04
func testGoodAnswers(t *testing.T, a Adapter) {
	t.Run("text arrives piece by piece and then whole, with its usage", func(t *testing.T) {
		t.Parallel()
		p := serve(t, serveEvents(a.Wire.Text("Hel", "lo <&> ", "wörld\n")...))
		o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest())
		if o.err != nil {
			t.Fatal(o.err)
		}
		want := []llm.EventType{llm.ContentStart, llm.ContentDelta, llm.ContentDelta, llm.ContentDelta, llm.ContentStop, llm.Complete}
		if diff := cmp.Diff(want, o.types()); diff != "" {
			t.Error(diff)
		}
		if got := o.response.Message.Text(); got != "Hello <&> wörld" {
			t.Errorf("words: %q", got)
		}
		if o.text(llm.ContentDelta) != "Hello <&> wörld\n" {
			t.Errorf("deltas: %q", o.text(llm.ContentDelta))
		}
		if diff := cmp.Diff(a.Wire.Usage, o.response.Usage); diff != "" {
			t.Error(diff)
		}
		finish, ok := o.response.Message.Parts[len(o.response.Message.Parts)-1].(transcript.Finish)
		if !ok || finish.Reason != transcript.EndTurn || o.response.Finish != transcript.EndTurn {
			t.Errorf("finish: %+v, %v", finish, o.response.Finish)
		}
		if n := o.response.Message.Native; n == nil || len(n.Blocks) == 0 {
			t.Error("the provider's own words are lost")
		}
	})
	t.Run("thinking comes before the text and is kept", func(t *testing.T) {
		t.Parallel()
		p := serve(t, serveEvents(a.Wire.Thinking("hm <b> & so", "yes")...))
		o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest())
		if o.err != nil {
			t.Fatal(o.err)
		}
		if o.events[0].Type != llm.ThinkingDelta || o.text(llm.ThinkingDelta) != "hm <b> & so" {
			t.Errorf("events: %+v", o.events)
		}
		if got, ok := o.response.Message.Parts[0].(transcript.Reasoning); !ok || got.Thinking != "hm <b> & so" {
			t.Errorf("first part: %+v", o.response.Message.Parts[0])
		}
	})
	t.Run("a tool call arrives whole, its arguments as the model wrote them", func(t *testing.T) {
		t.Parallel()
		p := serve(t, serveEvents(a.Wire.Tool("toolu_1", "look", `{"a" : `, `[1,2`, `]}`)...))
		o := ask(t.Context(), t, a.Open(t, p.endpoint()), toolRequest())
		if o.err != nil {
			t.Fatal(o.err)
		}
		want := []transcript.ToolCall{{ID: "toolu_1", Name: "look", Input: `{"a" : [1,2]}`, Finished: true}}
		if diff := cmp.Diff(want, o.response.Message.Calls()); diff != "" {
			t.Error(diff)
		}
		if o.response.Finish != transcript.ToolUse || o.text(llm.ToolUseDelta) != `{"a" : [1,2]}` {
			t.Errorf("finish %v, deltas %q", o.response.Finish, o.text(llm.ToolUseDelta))
		}
		types := o.types()
		if slices.Index(types, llm.ToolUseStart) >= slices.Index(types, llm.ToolUseStop) {
			t.Errorf("events: %v", types)
		}
	})
	t.Run("arguments that are not JSON are handed on and can be sent back", func(t *testing.T) {
		t.Parallel()
		p := serve(t, serveEvents(a.Wire.Tool("toolu_1", "look", `{"a": oops`)...))
		m := a.Open(t, p.endpoint())
		o := ask(t.Context(), t, m, toolRequest())
		if o.err != nil {
			t.Fatal(o.err)
		}
		if got := o.response.Message.Calls(); len(got) != 1 || got[0].Input != `{"a": oops` {
			t.Errorf("calls: %+v", got)
		}
		ask(t.Context(), t, m, requestWithResults(o.response.Message))
		if body := p.requests()[1]; !json.Valid(body) || !strings.Contains(string(body), "_raw") {
			t.Errorf("next request: %s", body)
		}
	})
	for name, id := range map[string]string{"with dots and colons": "functions.look:0", "of 60 characters": strings.Repeat("x", 60)} {
		t.Run("a call id "+name+" goes back as the same one that its result has", func(t *testing.T) {
			t.Parallel()
			p := serve(t, serveEvents(a.Wire.Tool(id, "look", `{}`)...))
			m := a.Open(t, p.endpoint())
			o := ask(t.Context(), t, m, toolRequest())
			if o.err != nil {
				t.Fatal(o.err)
			}
			ask(t.Context(), t, m, requestWithResults(o.response.Message))
			var body any
			if err := json.Unmarshal(p.requests()[1], &body); err != nil {
				t.Fatal(err)
			}
			if ids := callIDs(body); len(ids) != 2 || ids[0] != ids[1] || len(ids[0]) > 40 || strings.ContainsAny(ids[0], ".:") {
				t.Errorf("the ids of the call and of its result: %q", ids)
			}
		})
	}
	t.Run("usage that was not reported is estimated and says so", func(t *testing.T) {
		t.Parallel() // TX04
		p := serve(t, serveEvents(a.Wire.Silent("12345678")...))
		o := ask(t.Context(), t, a.Open(t, p.endpoint()), helloRequest())
		if o.err != nil {
			t.Fatal(o.err)
		}
		u := o.response.Usage
		if u.Source != costs.Estimated || u.Input != llm.Estimate(helloRequest()) || u.Output != 2 {
			t.Errorf("usage: %+v", u)
		}
		if !slices.Contains(o.types(), llm.Warning) {
			t.Error("no warning")
		}
	})
	t.Run("many streams at once do not mix", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		n := 0
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			n++
			mine := n
			mu.Unlock()
			serveEvents(a.Wire.Text(fmt.Sprint(mine), ":", fmt.Sprint(mine))...)(w, r)
		})
		m := a.Open(t, p.endpoint())
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				o := ask(t.Context(), t, m, helloRequest())
				if o.err != nil {
					t.Error(o.err)
					return
				}
				if left, right, _ := strings.Cut(o.response.Message.Text(), ":"); left != right {
					t.Errorf("mixed: %s", o.response.Message.Text())
				}
			})
		}
		wg.Wait()
	})
}

// callIDs returns the ids of calls in a request, and those by which results name them, in any
// protocol.
func callIDs(v any) (ids []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			ids = append(ids, callIDs(e)...)
		}
	case map[string]any:
		for key, e := range v {
			id, ok := e.(string)
			switch {
			case !ok:
				ids = append(ids, callIDs(e)...)
			case key == "tool_use_id", key == "tool_call_id", key == "call_id", key == "id" && (v["type"] == "tool_use" || v["type"] == "function"):
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func toolRequest() llm.Request {
	r := helloRequest()
	r.Tools = []llm.Definition{{
		Name: "look", Description: "Looks <around>.",
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array"}},"additionalProperties":false}`),
	}}
	return r
}

// requestWithResults returns the next request after a message with calls.
func requestWithResults(m transcript.Message) llm.Request {
	r := toolRequest()
	results := transcript.Message{Role: transcript.Tool}
	for _, c := range m.Calls() {
		results.Parts = append(results.Parts, transcript.ToolResult{ToolCallID: c.ID, Name: c.Name, Content: "seen"})
	}
	r.Messages = append(r.Messages, m, results)
	return r
}

func testRequests(t *testing.T, a Adapter) {
	sent := func(t *testing.T, r llm.Request) map[string]json.RawMessage {
		t.Helper()
		p := serve(t, serveEvents(a.Wire.Text("ok")...))
		if o := ask(t.Context(), t, a.Open(t, p.endpoint()), r); o.err != nil {
			t.Fatal(o.err)
		}
		if len(p.requests()) != 1 {
			t.Fatalf("%d requests", len(p.requests()))
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(p.requests()[0], &body); err != nil {
			t.Fatal(err)
		}
		return body
	}
	t.Run("without tools has no tools key and no tool choice", func(t *testing.T) {
		t.Parallel() // TX01
		r := helloRequest()
		r.Tools, r.Choice = []llm.Definition{}, llm.Required
		body := sent(t, r)
		for _, key := range []string{"tools", "tool_choice", "functions"} {
			if raw, ok := body[key]; ok {
				t.Errorf("%s: %s", key, raw)
			}
		}
	})
	t.Run("with tools has their schemas as they are", func(t *testing.T) {
		t.Parallel()
		if body := sent(t, toolRequest()); !strings.Contains(string(body["tools"]), string(toolRequest().Tools[0].Schema)) {
			t.Errorf("tools: %s", body["tools"])
		}
	})
	t.Run("asks for a stream of the model", func(t *testing.T) {
		t.Parallel()
		body := sent(t, helloRequest())
		if string(body["stream"]) != "true" || len(body["model"]) == 0 {
			t.Errorf("stream %s, model %s", body["stream"], body["model"])
		}
	})
	broken := toolRequest()
	broken.Tools[0].Schema = json.RawMessage(`{"type":`)
	for name, r := range map[string]llm.Request{"without any message": {System: helloRequest().System}, "with a schema that is no JSON": broken} {
		t.Run(name+" is refused before it is sent", func(t *testing.T) {
			t.Parallel()
			p := serve(t, serveEvents(a.Wire.Text("ok")...))
			o := ask(t.Context(), t, a.Open(t, p.endpoint()), r)
			if o.err == nil || o.err.Kind != llm.InvalidRequest || o.err.Sent || len(p.requests()) != 0 {
				t.Errorf("%v after %d requests", o.err, len(p.requests()))
			}
		})
	}
}
