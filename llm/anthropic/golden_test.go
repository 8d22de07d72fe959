package anthropic_test

import (
	"encoding/json"
	"flag"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

var update = flag.Bool("update", false, "rewrite testdata")

// conversation is a request whose body is kept in testdata.
type conversation struct {
	name, model string
	r           llm.Request
}

// spoken is what model said, in the provider's own blocks.
func spoken(blocks ...string) transcript.Message {
	m := transcript.Message{Role: transcript.Assistant, Native: &transcript.Native{Provider: "main", Model: model}}
	for _, b := range blocks {
		m.Native.Blocks = append(m.Native.Blocks, json.RawMessage(b))
	}
	return m
}

const (
	signedThinking = `{"type":"thinking","thinking":"if a<b && “c”","signature":"c2ln<+/="}`
	hiddenThinking = `{"type":"redacted_thinking","data":"ENC+/=="}`
)

func conversations() []conversation {
	half, limit := 0.5, 0.95
	look := llm.Definition{
		Name: "look", Description: "Looks <around> & says.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"a<b"}},"required":["path"],"additionalProperties":false}`),
	}
	question := []transcript.Message{said(transcript.User, words("what is <this> & why?"))}
	return []conversation{
		{"words", model, llm.Request{Messages: question}},
		{"system", model, llm.Request{
			System:   []llm.SystemBlock{{Text: "Be kind.", Cache: true}, {}, {Text: "Be <brief>."}, {Text: "Today.", Cache: true}},
			Messages: question, MaxTokens: 1000, CacheKey: "k1",
		}},
		{"tools", model, llm.Request{Messages: question, Tools: []llm.Definition{look, {Name: "go"}}}},
		{"a tool must be called", model, llm.Request{Messages: question, Tools: []llm.Definition{look}, Choice: llm.Required, Parameters: llm.Parameters{Effort: "low"}}},
		{"no tool may be called", model, llm.Request{Messages: question, Tools: []llm.Definition{look}, Choice: llm.None}},
		{"results of parallel calls", model, llm.Request{Tools: []llm.Definition{look}, Messages: []transcript.Message{
			question[0],
			said(transcript.Assistant, words("I look."),
				transcript.ToolCall{ID: "toolu_1", Name: "look", Input: `{"path": "a&b"}`}, transcript.ToolCall{ID: "toolu_2", Name: "look", Input: `oops`}),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "toolu_1", Name: "look", Content: "<seen>"}, transcript.ToolResult{ToolCallID: "toolu_2", Name: "look", Content: "no such file", IsError: true}),
			said(transcript.User, words("and now?")),
		}}},
		{"pictures", model, llm.Request{Messages: []transcript.Message{said(transcript.User, words("see"),
			transcript.Binary{MIMEType: "image/png", Data: []byte("png")}, transcript.ImageURL{URL: "https://a.b/c?d&e"},
			transcript.Binary{Path: "x.pdf", MIMEType: "application/pdf"})}}},
		{"thinking goes back", model, llm.Request{Parameters: llm.Parameters{Thinking: llm.AdaptiveThinking, Effort: "high"}, Tools: []llm.Definition{look}, Messages: []transcript.Message{
			question[0],
			spoken(signedThinking, hiddenThinking, `{"type":"text","text":"I <look>."}`, `{"type":"tool_use","id":"toolu_1","name":"look","input":{"path":"a","n":1.50}}`),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "toolu_1", Name: "look", Content: "seen"}),
		}}},
		{"thinking by a budget", "claude-haiku-4-5", llm.Request{Messages: question, Parameters: llm.Parameters{Thinking: llm.Budgeted, Budget: 2048}}},
		{"temperature", "claude-haiku-4-5", llm.Request{Messages: question, Parameters: llm.Parameters{Temperature: &half}}},
		{"top_p", "claude-haiku-4-5", llm.Request{Messages: question, Parameters: llm.Parameters{TopP: &limit}}},
	}
}

// bodyOf is what is sent for c.
func bodyOf(t *testing.T, c conversation) []byte {
	t.Helper()
	s := serve(t, text("ok"))
	if _, _, err := llmtest.Ask(t, newModel(t, s, c.model), c.r); err != nil {
		t.Fatal(err)
	}
	return []byte(s.body(0).raw)
}

func TestBodiesOfRequestsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var bodies []llmtest.Body
	for _, c := range conversations() {
		bodies = append(bodies, llmtest.Body{Name: c.name, JSON: bodyOf(t, c)})
	}
	llmtest.CompareGolden(t, "testdata/requests.txtar", *update, bodies)
}
