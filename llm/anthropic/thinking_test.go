package anthropic_test

import (
	"context"
	"net/http"
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
	}
}

// Calls without thinking before them, in the message that the request gives results for, are
// another model's, or were permitted by a person. Claude takes them while it does not think.
func TestABudgetedModelTakesUpALoopThatBeganWithoutThinking(t *testing.T) {
	t.Parallel()
	call := func(id string) []transcript.Message {
		return []transcript.Message{
			said(transcript.Assistant, transcript.ToolCall{ID: id, Name: "look", Input: "{}", Finished: true}),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: id, Name: "look", Content: "a tree"}),
		}
	}
	for name, loop := range map[string]struct {
		messages []transcript.Message
		thinks   bool
	}{
		"permitted":             {call("permitted_1"), false},
		"words and a call":      {append([]transcript.Message{said(transcript.Assistant, words("I look"))}, call("other_1")...), false},
		"two of another model":  {append(call("other_1"), call("other_2")...), false},
		"joined by a person":    {append(call("other_1"), said(transcript.User, words("well?"))), false},
		"ended before this one": {append(call("other_1"), said(transcript.Assistant, words("a tree")), said(transcript.User, words("and now?"))), true},
	} {
		m, server := thinker(t, "claude-haiku-4-5")
		r := llm.Request{
			Messages: append([]transcript.Message{said(transcript.User, words("go"))}, loop.messages...),
			Tools:    []llm.Definition{{Name: "look"}}, Parameters: llm.Parameters{Thinking: llm.Budgeted, Budget: 2000},
		}
		if err := talk(t, m, &r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all := server.Requests()
		if sent := string(all[len(all)-1].Body); strings.Contains(sent, `"thinking":{`) != loop.thinks {
			t.Errorf("%s: sent %s", name, sent)
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
