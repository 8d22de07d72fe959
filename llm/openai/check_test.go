package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/simulators/model"
	"parley/transcript"
)

func decimal(f float64) *float64 { return &f }

// requirements B02: what a model of OpenAI would refuse is known before it is asked.
func TestCheckReportsWhatAModelOfOpenAIRefuses(t *testing.T) {
	t.Parallel()
	type p = llm.Parameters
	const chat, responses = false, true
	server := model.New(model.Options{})
	for _, c := range []struct {
		model     string
		responses bool
		tools     bool
		p         llm.Parameters
		want      string
	}{
		{"gpt-4.1", chat, true, p{Temperature: decimal(1.5), TopP: decimal(0.5)}, ""},
		{"gpt-4.1", chat, true, p{Temperature: decimal(2.5)}, "temperature"},
		{"gpt-4.1", chat, true, p{TopP: decimal(1.5)}, "top_p"},
		{"gpt-4.1", responses, true, p{Effort: "low"}, "effort"},
		{"gpt-4.1", responses, true, p{Summary: "auto"}, "thinking_summary"},
		{"gpt-5", responses, true, p{Temperature: decimal(0.5)}, "temperature"},
		{"gpt-5", responses, true, p{TopP: decimal(0.5)}, "top_p"},
		{"gpt-5", chat, true, p{Effort: "minimal"}, ""},
		{"gpt-5", chat, true, p{Effort: "none"}, "effort"},
		{"gpt-5.2", chat, true, p{Temperature: decimal(0.5)}, ""},
		{"gpt-5.2", chat, true, p{Temperature: decimal(0.5), Effort: "low"}, "temperature"},
		{"gpt-5.6-sol", responses, true, p{Temperature: decimal(0.5), Effort: "none"}, ""},
		{"gpt-5.6-sol", responses, true, p{Effort: "max", Summary: "detailed"}, ""},
		{"gpt-5.6-sol", responses, true, p{Effort: "minimal"}, "effort"},
		{"gpt-5.6-sol", responses, true, p{Summary: "frob"}, "thinking_summary"},
		{"gpt-5.6-sol", chat, true, p{}, "effort"},
		{"gpt-5.6-sol", chat, false, p{}, ""},
		{"gpt-5.6-sol", chat, true, p{Effort: "none"}, ""},
		{"gpt-5.4", chat, true, p{}, ""},
		{"gpt-5.4", chat, true, p{Effort: "low"}, "effort"},
		{"gpt-6-astra", responses, true, p{Effort: "none"}, "effort"},
		{"gpt-6-astra", responses, true, p{CacheTTL: "12h"}, ""},
		{"gpt-5.6-sol", responses, true, p{CacheTTL: "30m"}, ""},
		{"gpt-5.6-sol", responses, true, p{CacheTTL: "1h"}, "cache_ttl"},
		{"llama", chat, true, p{Effort: "max", Temperature: decimal(2), TopP: decimal(0.1)}, ""},
		{"llama", chat, true, p{Effort: "frob"}, "effort"},
	} {
		got := ""
		for _, r := range openai.Check(c.model, c.p, c.responses, true, c.tools) {
			got = strings.TrimSpace(got + " " + r.Parameter)
			if r.Reason == "" {
				t.Errorf("%s %+v: no reason", c.model, c.p)
			}
		}
		if got != c.want {
			t.Errorf("%s %+v: refused are %q, not %q", c.model, c.p, got, c.want)
		}
		// The simulator is held to the provider's documents.
		o := openai.Options{Provider: "sim", Model: c.model, APIKey: "sk-1", BaseURL: "http://sim.invalid/v1", HTTPClient: &http.Client{Transport: llmtest.Served(server.Handler())}}
		var m llm.Model
		var err error
		if m, err = openai.New(o); c.responses {
			m, err = openai.NewResponses(o)
		}
		if err != nil {
			t.Fatal(err)
		}
		q := llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}, Parameters: c.p}
		if c.tools {
			q.Tools = []llm.Definition{{Name: "look", Schema: []byte(`{"type":"object"}`)}}
		}
		_, _, err = llmtest.Ask(t, m, q)
		lenient := c.want == "thinking_summary" && c.model == "gpt-4.1"
		if refused := err != nil; refused != (c.want != "") && !lenient {
			t.Errorf("%s %+v: Check refuses %q, the provider says %v", c.model, c.p, c.want, err)
		}
	}
	for name, p := range map[string]llm.Parameters{"thinking": {Thinking: llm.AdaptiveThinking}, "thinking_summary": {Summary: "auto"}} {
		if rs := openai.Check("gpt-5", p, chat, true, true); len(rs) != 1 || rs[0].Parameter != name {
			t.Errorf("%s: %+v", name, rs)
		}
	}
	if rs := openai.Check("gpt-5.6-sol", llm.Parameters{}, chat, false, true); rs != nil {
		t.Errorf("at a compatible server: %+v", rs)
	}
}
