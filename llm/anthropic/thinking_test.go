package anthropic_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/llmtest"
	sim "parley/simulators/model"
	"parley/transcript"
)

// thinker is a model at a simulator that thinks before each answer, calls a tool first, and
// refuses what Anthropic refuses.
func thinker(t *testing.T, name string) (llm.Model, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Options{Brain: func(_ context.Context, p *sim.Prompt) sim.Answer {
		if len(p.Answering()) == 0 {
			return sim.Reply(sim.Think("I should look"), sim.Redact("hidden"), sim.Use("look", map[string]string{}))
		}
		return sim.Reply(sim.Think("I have seen"), sim.Say("seen"))
	}})
	m, err := anthropic.New(anthropic.Options{
		Provider: "sim", Model: name, APIKey: "sk-1", BaseURL: "http://sim.invalid",
		HTTPClient: &http.Client{Transport: &llmtest.AnthropicValidator{T: t, Next: llmtest.Served(server.Handler())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, server
}

// talk asks m and appends its answer to the request, with the result of its call.
func talk(t *testing.T, m llm.Model, r *llm.Request) error {
	t.Helper()
	resp, _, err := llmtest.Ask(t, m, *r)
	if err != nil {
		return err
	}
	r.Messages = append(r.Messages, resp.Message)
	for _, c := range resp.Message.Calls() {
		r.Messages = append(r.Messages, said(transcript.Tool, transcript.ToolResult{ToolCallID: c.ID, Name: c.Name, Content: "a tree"}))
	}
	return nil
}

// requirements E04: thinking of an open tool loop goes back as it came, and a provider that
// checks it is the judge.
func TestAToolLoopWithThinkingIsTakenByAProviderThatChecksIt(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]llm.Parameters{
		"claude-haiku-4-5":  {Thinking: llm.Budgeted, Budget: 2000},
		"claude-sonnet-4-6": {Thinking: llm.AdaptiveThinking, Effort: "low"},
		"claude-opus-4-8":   {Thinking: llm.AdaptiveThinking, Summary: "auto"},
		"claude-opus-5-5":   {Summary: "auto"},
		"claude-haiku-5-5":  {},
		"claude-unknown":    {Thinking: llm.AdaptiveThinking},
	} {
		m, server := thinker(t, name)
		r := llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}, Tools: []llm.Definition{{Name: "look"}}, Parameters: p}
		for range 2 {
			if err := talk(t, m, &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		r.Messages = append(r.Messages, said(transcript.User, words("and again")))
		if err := talk(t, m, &r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all := server.Requests()
		if last := string(all[len(all)-1].Body); strings.Count(last, `"signature"`) != 2 || strings.Count(last, `"redacted_thinking"`) != 1 || strings.Contains(last, "dropped") {
			t.Errorf("%s: not all thinking went back: %s", name, last)
		}
		if name == "claude-haiku-4-5" {
			if i := slices.IndexFunc(r.Messages, func(m transcript.Message) bool { return m.Native != nil }); i >= 0 {
				r.Messages = r.Messages[:i+2] // in the middle of the loop
				r.Messages[i].Native.Blocks = r.Messages[i].Native.Blocks[2:]
			}
			if err := talk(t, m, &r); err == nil || !strings.Contains(err.Error(), "must start with a thinking block") {
				t.Errorf("without its thinking: %v", err)
			}
		}
	}
}

// Preserved thinking: the system message names the day, old results are cut, summaries stand
// for what was said. A provider that binds thinking to all of this must not refuse the
// conversation for it.
func TestAConversationWithBoundThinkingGoesOnWhenItsBeginningChanges(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"} {
		for _, off := range []llm.Thinking{llm.DefaultThinking, llm.NoThinking} {
			m, _ := thinker(t, name)
			r := llm.Request{
				System: []llm.SystemBlock{{Text: "Today is Monday."}}, Messages: []transcript.Message{said(transcript.User, words("go"))},
				Tools: []llm.Definition{{Name: "look"}},
			}
			for range 2 {
				if err := talk(t, m, &r); err != nil {
					t.Fatal(err)
				}
			}
			if off == llm.NoThinking && llm.Lookup(name).Thinking.Off == "" {
				continue
			}
			r.Thinking = off
			r.System[0].Text = "Today is Tuesday."
			r.Messages = append(r.Messages, said(transcript.User, words("and?")))
			if err := talk(t, m, &r); err != nil {
				t.Errorf("%s, thinking %q, the next day: %v", name, off, err)
			}
			r.Messages[2].Parts[0] = transcript.ToolResult{ToolCallID: r.Messages[1].Calls()[0].ID, Name: "look", Content: "cut"}
			if err := talk(t, m, &r); err != nil {
				t.Errorf("%s, thinking %q, with a result that was cut: %v", name, off, err)
			}
		}
	}
}
