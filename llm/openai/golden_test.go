package openai_test

import (
	"encoding/json"
	"flag"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

var update = flag.Bool("update", false, "rewrite testdata")

// conversation is a request whose body is kept in testdata.
type conversation struct {
	name string
	o    openai.Options
	r    llm.Request
}

// spoken is what the model of the tests said, in the provider's own blocks.
func spoken(blocks ...string) transcript.Message {
	m := transcript.Message{Role: transcript.Assistant, Native: &transcript.Native{Provider: "main", Model: "gpt-5.6-sol"}}
	for _, b := range blocks {
		m.Native.Blocks = append(m.Native.Blocks, json.RawMessage(b))
	}
	return m
}

const (
	spokenInChat = `{"content":"I <look>.","reasoning_content":"if a<b && “c”","role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\": \"a\"}","name":"look"},"id":"call_1","type":"function"}]}`

	reasonedItem = `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA+/=<","summary":[{"type":"summary_text","text":"if a<b && “c”"}]}`
	saidItem     = `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"I <look>."}],"role":"assistant"}`
	calledItem   = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"path\": \"a\"}","call_id":"call_1","name":"look"}`
)

// conversations are the requests for either protocol. What the model said goes
// back in the blocks of that protocol.
func conversations(blocks ...string) []conversation {
	half, limit := 0.5, 0.95
	look := llm.Definition{
		Name: "look", Description: "Looks <around> & says.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"a<b"}},"required":["path"],"additionalProperties":false}`),
	}
	question := []transcript.Message{said(transcript.User, words("what is <this> & why?"))}
	system := []llm.SystemBlock{{Text: "Be kind.", Cache: true}, {}, {Text: "Be <brief>."}}
	return []conversation{
		{"words", openai.Options{}, llm.Request{Messages: question}},
		{"system", openai.Options{PromptCacheKey: true}, llm.Request{System: system, Messages: question, MaxTokens: 1000, CacheKey: "k1"}},
		{"tools", openai.Options{}, llm.Request{Messages: question, Tools: []llm.Definition{look, {Name: "go"}}}},
		{"a tool must be called", openai.Options{}, llm.Request{Messages: question, Tools: []llm.Definition{look}, Choice: llm.Required, Parameters: llm.Parameters{Effort: "low"}}},
		{"no tool may be called", openai.Options{}, llm.Request{Messages: question, Tools: []llm.Definition{look}, Choice: llm.None}},
		{"results of parallel calls", openai.Options{}, llm.Request{Tools: []llm.Definition{look}, Messages: []transcript.Message{
			question[0],
			said(transcript.Assistant, words("I look."),
				transcript.ToolCall{ID: "call_1", Name: "look", Input: `{"path": "a&b"}`}, transcript.ToolCall{ID: "call_2", Name: "look", Input: `oops`}),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "call_1", Name: "look", Content: "<seen>"}, transcript.ToolResult{ToolCallID: "call_2", Name: "look", Content: "no such file", IsError: true}),
			said(transcript.User, words("and now?")),
		}}},
		{"pictures", openai.Options{}, llm.Request{Messages: []transcript.Message{said(transcript.User, words("see"),
			transcript.Binary{MIMEType: "image/png", Data: []byte("png")}, transcript.ImageURL{URL: "https://a.b/c?d&e", Detail: "low"},
			transcript.Binary{Path: "x.pdf", MIMEType: "application/pdf"})}}},
		{"reasoning goes back", openai.Options{}, llm.Request{Parameters: llm.Parameters{Effort: "high", Summary: "auto"}, Tools: []llm.Definition{look}, Messages: []transcript.Message{
			question[0],
			spoken(blocks...),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "call_1", Name: "look", Content: "seen"}),
		}}},
		{"reasoning stays away", openai.Options{DropReasoning: true}, llm.Request{Parameters: llm.Parameters{Effort: "high"}, Tools: []llm.Definition{look}, Messages: []transcript.Message{
			question[0],
			spoken(blocks...),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "call_1", Name: "look", Content: "seen"}),
		}}},
		{"sampling", openai.Options{Model: "gpt-4.1"}, llm.Request{Messages: question, Parameters: llm.Parameters{Temperature: &half, TopP: &limit}}},
		{"an old server", openai.Options{Model: "llama", LegacyMaxTokens: true}, llm.Request{Messages: question}},
	}
}

// bodyOf is what the model that open makes sends for c.
func bodyOf(t *testing.T, c conversation, answer []string, open func(server) llm.Model) []byte {
	t.Helper()
	s := serve(t, answer)
	if _, _, err := llmtest.Ask(t, open(s), c.r); err != nil {
		t.Fatal(err)
	}
	return []byte(s.body(0).raw)
}

func chatBody(t *testing.T, c conversation) []byte {
	t.Helper()
	return bodyOf(t, c, text("ok"), func(s server) llm.Model { return newModel(t, s, c.o) })
}

func responsesBody(t *testing.T, c conversation) []byte {
	t.Helper()
	return bodyOf(t, c, respond(saying(0, "ok")), func(s server) llm.Model { return newResponses(t, s, c.o) })
}

func TestBodiesOfRequestsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var chat, responses []llmtest.Body
	for _, c := range conversations(spokenInChat) {
		chat = append(chat, llmtest.Body{Name: c.name, JSON: chatBody(t, c)})
	}
	for _, c := range conversations(reasonedItem, saidItem, calledItem) {
		responses = append(responses, llmtest.Body{Name: c.name, JSON: responsesBody(t, c)})
	}
	llmtest.CompareGolden(t, "testdata/chat.txtar", *update, chat)
	llmtest.CompareGolden(t, "testdata/responses.txtar", *update, responses)
}
