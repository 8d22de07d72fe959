package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/llmtest"
	sim "parley/simulators/model"
	"parley/transcript"
)

func number(f float64) *float64 { return &f }

// requirements B02: what Claude would refuse is known before it is asked.
func TestCheckReportsWhatAClaudeRefuses(t *testing.T) {
	t.Parallel()
	type p = llm.Parameters
	server := sim.New(sim.Options{})
	for _, c := range []struct {
		model     string
		p         llm.Parameters
		maxTokens int
		want      string // parameters that are refused
	}{
		{"claude-haiku-5-5", p{}, 128_000, ""},
		{"claude-haiku-4-5", p{}, 64_000, ""},

		{"claude-haiku-4-5", p{CacheTTL: "5m"}, 64_000, ""},
		{"claude-haiku-4-5", p{CacheTTL: "1h"}, 64_000, ""},

		{"claude-haiku-4-5", p{Temperature: number(0.5)}, 64_000, ""},
		{"claude-haiku-4-5", p{TopP: number(0.5)}, 64_000, ""},
		{"claude-haiku-4-5", p{Temperature: number(0.5), TopP: number(0.5)}, 64_000, "top_p"},
		{"claude-haiku-4-5", p{Temperature: number(1.5)}, 64_000, "temperature"},
		{"claude-haiku-4-5", p{TopP: number(1.5)}, 64_000, "top_p"},
		{"claude-opus-4-8", p{Temperature: number(0.5)}, 128_000, "temperature"},
		{"claude-haiku-5-5", p{TopP: number(0.99)}, 128_000, "top_p"},
		{"claude-haiku-4-5", p{Temperature: number(0.5), Thinking: llm.Budgeted, Budget: 2000}, 64_000, "temperature"},
		{"claude-haiku-4-5", p{Temperature: number(1), Thinking: llm.Budgeted, Budget: 2000}, 64_000, ""},
		{"claude-sonnet-4-6", p{TopP: number(0.9), Thinking: llm.AdaptiveThinking}, 64_000, "top_p"},
		{"claude-sonnet-4-6", p{TopP: number(0.95), Thinking: llm.AdaptiveThinking}, 64_000, ""},

		{"claude-haiku-4-5", p{Effort: "low"}, 64_000, "effort"},
		{"claude-opus-4-5", p{Effort: "max"}, 64_000, "effort"},
		{"claude-opus-5-5", p{Effort: "max"}, 128_000, ""},
		{"claude-opus-5-5", p{Effort: "minimal"}, 128_000, "effort"},

		{"claude-haiku-4-5", p{Thinking: llm.AdaptiveThinking}, 64_000, "thinking"},
		{"claude-opus-4-8", p{Thinking: llm.AdaptiveThinking, Effort: "xhigh"}, 128_000, ""},
		{"claude-opus-4-8", p{Thinking: llm.Budgeted, Budget: 2000}, 128_000, "thinking"},
		{"claude-haiku-4-5", p{Thinking: llm.Budgeted, Budget: 1023}, 64_000, "thinking"},
		{"claude-haiku-4-5", p{Thinking: llm.Budgeted, Budget: 4000}, 4000, "thinking"},
		{"claude-haiku-4-5", p{Thinking: llm.Budgeted, Budget: 3999}, 4000, ""},
		{"claude-opus-5-5", p{Thinking: llm.NoThinking}, 128_000, "thinking"},
		{"claude-sonnet-5-5", p{Thinking: llm.NoThinking, Effort: "high"}, 128_000, ""},
		{"claude-sonnet-5-5", p{Thinking: llm.NoThinking, Effort: "max"}, 128_000, "effort"},
		{"claude-sonnet-5", p{Thinking: llm.NoThinking, Effort: "max"}, 128_000, ""},

		{"claude-opus-5", p{Summary: "auto"}, 128_000, ""},
		{"claude-opus-5", p{Summary: "detailed"}, 128_000, "thinking_summary"},
		{"claude-haiku-5-5", p{Summary: "auto", Thinking: llm.NoThinking}, 128_000, "thinking_summary"},
		{"claude-opus-4-8", p{Summary: "auto"}, 128_000, "thinking_summary"},
		{"claude-opus-4-8", p{Summary: "auto", Thinking: llm.AdaptiveThinking}, 128_000, ""},

		{"claude-next", p{Temperature: number(0.5), TopP: number(0.5), Effort: "xhigh"}, 4096, ""},
		{"claude-next", p{Effort: "frob"}, 4096, "effort"},
	} {
		got := ""
		for _, r := range anthropic.Check(c.model, c.p, c.maxTokens) {
			got = strings.TrimSpace(got + " " + r.Parameter)
			if r.Reason == "" {
				t.Errorf("%s %+v: no reason", c.model, c.p)
			}
		}
		if got != c.want {
			t.Errorf("%s %+v, %d tokens: refused are %q, not %q", c.model, c.p, c.maxTokens, got, c.want)
		}
		// The simulator is held to the provider's documents: what is let pass it takes, and
		// what is refused it does not, but for what has no effect there.
		o := anthropic.Options{Provider: "sim", Model: c.model, APIKey: "sk-1", BaseURL: "http://sim.invalid", HTTPClient: &http.Client{Transport: llmtest.Served(server.Handler())}}
		m, err := anthropic.New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = llmtest.Ask(t, m, llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}, MaxTokens: c.maxTokens, Parameters: c.p})
		lenient := c.want == "thinking_summary" || c.model == "claude-next" || strings.HasPrefix(c.want, "thinking") && c.p.Thinking == llm.Budgeted && c.p.Budget >= c.maxTokens
		if refused := err != nil; refused != (c.want != "") && !lenient {
			t.Errorf("%s %+v: Check refuses %q, the provider says %v", c.model, c.p, c.want, err)
		}
	}
}
