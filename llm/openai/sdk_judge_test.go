//go:build judges

package openai_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

// client is OpenAI's own, asking s as newModel does.
func client(t *testing.T, s server) sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sdk.NewClient(
		option.WithMaxRetries(0), option.WithBaseURL(s.URL+"/api/v1"), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: transport}),
	)
}

const question = "what is <this> & why?"

var lookParameters = map[string]any{
	"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string", "description": "a<b"}},
	"required": []string{"path"}, "additionalProperties": false,
}

// inChat holds the same conversations, written with the SDK's types for Chat.
func inChat() map[string]sdk.ChatCompletionNewParams {
	call := func(id, arguments string) sdk.ChatCompletionMessageToolCallUnionParam {
		return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: id, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: "look", Arguments: arguments},
		}}
	}
	assistant := func(thought string, calls ...sdk.ChatCompletionMessageToolCallUnionParam) sdk.ChatCompletionMessageParamUnion {
		m := sdk.ChatCompletionAssistantMessageParam{ToolCalls: calls}
		m.Content.OfString = sdk.String("I look.")
		if len(calls) == 1 {
			m.Content.OfString = sdk.String("I <look>.")
		}
		if thought != "" {
			m.SetExtraFields(map[string]any{"reasoning_content": thought})
		}
		return sdk.ChatCompletionMessageParamUnion{OfAssistant: &m}
	}
	look := sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "look", Description: sdk.String("Looks <around> & says."), Parameters: lookParameters,
	})
	change := func(f func(p *sdk.ChatCompletionNewParams)) sdk.ChatCompletionNewParams {
		p := sdk.ChatCompletionNewParams{
			Model: "gpt-5.6-sol", MaxCompletionTokens: sdk.Int(128_000), Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(question)},
			StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
		}
		f(&p)
		return p
	}
	tooled := func(p *sdk.ChatCompletionNewParams) { p.Tools = []sdk.ChatCompletionToolUnionParam{look} }
	reasoned := func(thought string) func(p *sdk.ChatCompletionNewParams) {
		return func(p *sdk.ChatCompletionNewParams) {
			tooled(p)
			p.ReasoningEffort = shared.ReasoningEffortHigh
			p.Messages = append(p.Messages, assistant(thought, call("call_1", `{"path": "a"}`)), sdk.ToolMessage("seen", "call_1"))
		}
	}
	return map[string]sdk.ChatCompletionNewParams{
		"words": change(func(*sdk.ChatCompletionNewParams) {}),
		"system": change(func(p *sdk.ChatCompletionNewParams) {
			p.MaxCompletionTokens, p.PromptCacheKey = sdk.Int(1000), sdk.String("k1")
			p.Messages = []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage("Be kind.\n\nBe <brief>."), sdk.UserMessage(question)}
		}),
		"tools": change(func(p *sdk.ChatCompletionNewParams) {
			p.Tools = []sdk.ChatCompletionToolUnionParam{look, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "go"})}
		}),
		"a tool must be called": change(func(p *sdk.ChatCompletionNewParams) {
			tooled(p)
			p.ToolChoice.OfAuto, p.ReasoningEffort = sdk.String("required"), shared.ReasoningEffortLow
		}),
		"no tool may be called": change(func(p *sdk.ChatCompletionNewParams) {
			tooled(p)
			p.ToolChoice.OfAuto = sdk.String("none")
		}),
		"results of parallel calls": change(func(p *sdk.ChatCompletionNewParams) {
			tooled(p)
			p.Messages = append(p.Messages, assistant("", call("call_1", `{"path": "a&b"}`), call("call_2", `{"_raw":"oops"}`)),
				sdk.ToolMessage("<seen>", "call_1"), sdk.ToolMessage("no such file", "call_2"), sdk.UserMessage("and now?"))
		}),
		"pictures": change(func(p *sdk.ChatCompletionNewParams) {
			image := func(url, detail string) sdk.ChatCompletionContentPartUnionParam {
				return sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: url, Detail: detail})
			}
			p.Messages = []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
				sdk.TextContentPart("see"), image("data:image/png;base64,cG5n", "high"), image("https://a.b/c?d&e", "low"),
				sdk.TextContentPart("[attachment: x.pdf (application/pdf)]"),
			})}
		}),
		"reasoning goes back":  change(reasoned("if a<b && “c”")),
		"reasoning stays away": change(reasoned("")),
		"sampling": change(func(p *sdk.ChatCompletionNewParams) {
			p.Model, p.MaxCompletionTokens, p.Temperature, p.TopP = "gpt-4.1", sdk.Int(32_768), sdk.Float(0.5), sdk.Float(0.95)
		}),
		"an old server": change(func(p *sdk.ChatCompletionNewParams) {
			p.Model, p.MaxTokens = "llama", sdk.Int(4096)
			p.MaxCompletionTokens = sdk.ChatCompletionNewParams{}.MaxCompletionTokens
		}),
	}
}

// inResponses holds the same conversations, written with the SDK's types for Responses.
func inResponses() map[string]responses.ResponseNewParams {
	type item = responses.ResponseInputItemUnionParam
	say := func(role responses.EasyInputMessageRole, text string) item {
		return item{OfMessage: &responses.EasyInputMessageParam{
			Role: role, Type: "message", Content: responses.EasyInputMessageContentUnionParam{OfString: sdk.String(text)},
		}}
	}
	result := func(id, text string) item {
		r := responses.ResponseInputItemParamOfFunctionCallOutput(text)
		r.OfFunctionCallOutput.CallID = sdk.String(id)
		return r
	}
	look := responses.ToolParamOfFunction("look", lookParameters, false)
	look.OfFunction.Description = sdk.String("Looks <around> & says.")
	change := func(f func(p *responses.ResponseNewParams), more ...item) responses.ResponseNewParams {
		p := responses.ResponseNewParams{
			Model: "gpt-5.6-sol", MaxOutputTokens: sdk.Int(128_000), Store: sdk.Bool(false), Include: []responses.ResponseIncludable{"reasoning.encrypted_content"},
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, say("user", question))
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, more...)
		f(&p)
		return p
	}
	tooled := func(p *responses.ResponseNewParams) { p.Tools = []responses.ToolUnionParam{look} }
	reasoning := responses.ResponseInputItemParamOfReasoning("rs_1", []responses.ResponseReasoningItemSummaryParam{{Text: "if a<b && “c”"}})
	reasoning.OfReasoning.EncryptedContent = sdk.String("gAAAA+/=<")
	spoken := responses.ResponseInputItemParamOfOutputMessage([]responses.ResponseOutputMessageContentUnionParam{{OfOutputText: &responses.ResponseOutputTextParam{
		Text: "I <look>.", Annotations: []responses.ResponseOutputTextAnnotationUnionParam{}, Logprobs: []responses.ResponseOutputTextLogprobParam{},
	}}}, "msg_1", "completed")
	called := responses.ResponseInputItemParamOfFunctionCall(`{"path": "a"}`, "call_1", "look")
	called.OfFunctionCall.ID, called.OfFunctionCall.Status = sdk.String("fc_1"), "completed"
	image := func(url string, detail responses.ResponseInputImageDetail) responses.ResponseInputContentUnionParam {
		c := responses.ResponseInputContentParamOfInputImage(detail)
		c.OfInputImage.ImageURL = sdk.String(url)
		return c
	}
	return map[string]responses.ResponseNewParams{
		"words": change(func(*responses.ResponseNewParams) {}),
		"system": change(func(p *responses.ResponseNewParams) {
			p.MaxOutputTokens, p.PromptCacheKey, p.Instructions = sdk.Int(1000), sdk.String("k1"), sdk.String("Be kind.\n\nBe <brief>.")
		}),
		"tools": change(func(p *responses.ResponseNewParams) {
			p.Tools = []responses.ToolUnionParam{look, responses.ToolParamOfFunction("go", map[string]any{"type": "object", "properties": map[string]any{}}, false)}
		}),
		"a tool must be called": change(func(p *responses.ResponseNewParams) {
			tooled(p)
			p.Reasoning.Effort = "low"
			p.ToolChoice.OfToolChoiceMode = sdk.Opt(responses.ToolChoiceOptionsRequired)
		}),
		"no tool may be called": change(func(p *responses.ResponseNewParams) {
			tooled(p)
			p.ToolChoice.OfToolChoiceMode = sdk.Opt(responses.ToolChoiceOptionsNone)
		}),
		"results of parallel calls": change(tooled, say("assistant", "I look."),
			responses.ResponseInputItemParamOfFunctionCall(`{"path": "a&b"}`, "call_1", "look"), responses.ResponseInputItemParamOfFunctionCall(`{"_raw":"oops"}`, "call_2", "look"),
			result("call_1", "<seen>"), result("call_2", "no such file"), say("user", "and now?")),
		"pictures": change(func(p *responses.ResponseNewParams) {
			p.Input.OfInputItemList = []item{{OfMessage: &responses.EasyInputMessageParam{
				Role: "user", Type: "message", Content: responses.EasyInputMessageContentUnionParam{OfInputItemContentList: responses.ResponseInputMessageContentListParam{
					responses.ResponseInputContentParamOfInputText("see"), image("data:image/png;base64,cG5n", "high"), image("https://a.b/c?d&e", "low"),
					responses.ResponseInputContentParamOfInputText("[attachment: x.pdf (application/pdf)]"),
				}},
			}}}
		}),
		"reasoning goes back": change(func(p *responses.ResponseNewParams) {
			tooled(p)
			p.Reasoning = shared.ReasoningParam{Effort: "high", Summary: "auto"}
		}, reasoning, spoken, called, result("call_1", "seen")),
		"reasoning stays away": change(func(p *responses.ResponseNewParams) {
			tooled(p)
			p.Reasoning.Effort, p.Include = "high", nil
		}, spoken, called, result("call_1", "seen")),
		"sampling": change(func(p *responses.ResponseNewParams) {
			p.Model, p.MaxOutputTokens, p.Include = "gpt-4.1", sdk.Int(32_768), nil
			p.Temperature, p.TopP = sdk.Float(0.5), sdk.Float(0.95)
		}),
		"an old server": change(func(p *responses.ResponseNewParams) {
			p.Model, p.MaxOutputTokens, p.Include = "llama", sdk.Int(4096), nil
		}),
	}
}

func rewritten(answer []string, old, replacement string) []string {
	return []string{strings.ReplaceAll(strings.Join(answer, ""), old, replacement)}
}

// forSDK is an answer of Chat Completions without what some servers send in
// each chunk and the SDK takes for an error.
func forSDK(answer []string) []string { return rewritten(answer, `"error":null,`, "") }

// exhaust reads a stream to its end.
func exhaust[T any](t *testing.T, stream interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}, each func(T),
) {
	t.Helper()
	defer func() { _ = stream.Close() }()
	for stream.Next() {
		each(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestParleySendsWhatOpenAIsSDKSends(t *testing.T) {
	t.Parallel()
	chats, items := inChat(), inResponses()
	for _, c := range conversations(spokenInChat) {
		t.Run("chat: "+c.name, func(t *testing.T) {
			t.Parallel()
			p, ok := chats[c.name]
			if !ok {
				t.Fatal("the SDK is not asked")
			}
			s := serve(t, forSDK(text("ok")))
			own := client(t, s)
			c.o.APIKey = "key"
			if _, _, err := llmtest.Ask(t, newModel(t, s, c.o), c.r); err != nil {
				t.Fatal(err)
			}
			exhaust(t, own.Chat.Completions.NewStreaming(t.Context(), p), func(sdk.ChatCompletionChunk) {})
			same(t, s)
		})
	}
	for _, c := range conversations(reasonedItem, saidItem, calledItem) {
		t.Run("responses: "+c.name, func(t *testing.T) {
			t.Parallel()
			p, ok := items[c.name]
			if !ok {
				t.Fatal("the SDK is not asked")
			}
			s := serve(t, respond(saying(0, "ok")))
			own := client(t, s)
			c.o.APIKey = "key"
			if _, _, err := llmtest.Ask(t, newResponses(t, s, c.o), c.r); err != nil {
				t.Fatal(err)
			}
			exhaust(t, own.Responses.NewStreaming(t.Context(), p), func(responses.ResponseStreamEventUnion) {})
			same(t, s)
		})
	}
}

// same compares parley's request with the SDK's, which came second.
func same(t *testing.T, s server) {
	t.Helper()
	var parleys, theirs any
	for n, into := range []any{&parleys, &theirs} {
		if err := json.Unmarshal([]byte(s.body(n).raw), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(theirs, parleys); diff != "" {
		t.Errorf("(-SDK +parley)\n%s", diff)
	}
	for _, one := range s.Requests() {
		h := one.Header
		for name := range h {
			if strings.HasPrefix(name, "X-Stainless-") || slices.Contains([]string{"User-Agent", "Content-Length"}, name) {
				h.Del(name)
			}
		}
	}
	if diff := cmp.Diff(s.Requests()[1].Header, s.Requests()[0].Header); diff != "" || s.Requests()[0].Path != s.Requests()[1].Path {
		t.Errorf("%q and %q, headers (-SDK +parley)\n%s", s.Requests()[0].Path, s.Requests()[1].Path, diff)
	}
}

// reading is what an answer says, as far as both readers know it.
type reading struct {
	Text, Thinking string
	Calls          []transcript.ToolCall // without Finished
	Reason         transcript.FinishReason
	Usage          costs.Usage // without its source
}

func ours(t *testing.T, m llm.Model) (r reading) {
	t.Helper()
	resp, _, err := llmtest.Ask(t, m, greeting())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case transcript.Text:
			r.Text += p.Text
		case transcript.Reasoning:
			r.Thinking += p.Thinking
		case transcript.ToolCall:
			p.Finished = false
			r.Calls = append(r.Calls, p)
		}
	}
	r.Reason, r.Usage = resp.Finish, resp.Usage
	r.Usage.Source = ""
	return r
}

func chatReading(t *testing.T, s server) (r reading) {
	t.Helper()
	own := client(t, s)
	var a sdk.ChatCompletionAccumulator
	var u sdk.CompletionUsage
	exhaust(t, own.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{
		Model: "gpt-5.6-sol", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("go")},
	}), func(c sdk.ChatCompletionChunk) {
		c.ID = "chatcmpl-1" // the accumulator takes a change of it for another answer; servers do change it
		if !a.AddChunk(c) {
			t.Fatal("the accumulator refused a chunk")
		}
		if c.JSON.Usage.Valid() { // the accumulator leaves out what the cache took
			u = c.Usage
		}
	})
	m := a.Choices[0].Message
	r.Text = m.Content + m.Refusal
	for _, c := range m.ToolCalls {
		r.Calls = append(r.Calls, transcript.ToolCall{ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
	}
	r.Reason = map[string]transcript.FinishReason{
		"stop": transcript.EndTurn, "length": transcript.MaxTokens, "tool_calls": transcript.ToolUse, "content_filter": transcript.Refusal,
	}[a.Choices[0].FinishReason]
	r.Usage = costs.Usage{
		Input: u.PromptTokens - u.PromptTokensDetails.CachedTokens - u.PromptTokensDetails.CacheWriteTokens, CacheRead: u.PromptTokensDetails.CachedTokens,
		CacheWrite5m: u.PromptTokensDetails.CacheWriteTokens, Output: u.CompletionTokens, Reasoning: u.CompletionTokensDetails.ReasoningTokens,
		Tier: string(a.ServiceTier),
	}
	return r
}

func responsesReading(t *testing.T, s server) (r reading) {
	t.Helper()
	own := client(t, s)
	var end responses.Response
	exhaust(t, own.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: "gpt-5.6-sol", Input: responses.ResponseNewParamsInputUnion{OfString: sdk.String("go")},
	}), func(event responses.ResponseStreamEventUnion) {
		switch e := event.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			r.Text += e.Delta
		case responses.ResponseRefusalDeltaEvent:
			r.Text += e.Delta
			r.Reason = transcript.Refusal
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			if e.SummaryIndex > 0 {
				r.Thinking += "\n\n"
			}
			r.Thinking += e.Delta
		case responses.ResponseCompletedEvent:
			end = e.Response
		case responses.ResponseIncompleteEvent:
			end = e.Response
		}
	})
	for _, item := range end.Output {
		if item.Type == "function_call" {
			c := item.AsFunctionCall()
			r.Calls = append(r.Calls, transcript.ToolCall{ID: c.CallID, Name: c.Name, Input: c.Arguments})
			r.Reason = transcript.ToolUse
		}
	}
	switch {
	case end.IncompleteDetails.Reason == "max_output_tokens":
		r.Reason = transcript.MaxTokens
	case r.Reason == "":
		r.Reason = transcript.EndTurn
	}
	if text := end.OutputText(); r.Reason != transcript.Refusal && text != r.Text {
		t.Errorf("the SDK reads %q from the pieces and %q from the whole", r.Text, text)
	}
	u := end.Usage
	r.Usage = costs.Usage{
		Input: u.InputTokens - u.InputTokensDetails.CachedTokens - u.InputTokensDetails.CacheWriteTokens, CacheRead: u.InputTokensDetails.CachedTokens,
		CacheWrite5m: u.InputTokensDetails.CacheWriteTokens, Output: u.OutputTokens, Reasoning: u.OutputTokensDetails.ReasoningTokens,
		Tier: string(end.ServiceTier),
	}
	return r
}

func TestParleyReadsWhatOpenAIsSDKReads(t *testing.T) {
	t.Parallel()
	parallel := slices.Concat([]string{
		chunk(`{"role":"assistant","content":null}`, "null"), chunk(`{"content":"I <look>\u2028 "}`, "null"), chunk(`{"content":"& say 👍"}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":""}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\" : \"ü"}}]}`, "null"), chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"ber\"}"}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"go","arguments":"{}"}}]}`, "null"),
	}, end("tool_calls"))
	cut := func(answer []string, reason string) []string {
		return slices.Concat(answer[:len(answer)-3], end(reason))
	}
	for name, answer := range map[string][]string{
		"text":                          text("Hel", "lo <&> ", "wörld\n"),
		"a call":                        tool("call_1", "look", `{"a" : `, `[1,2`, `]}`),
		"parallel calls":                parallel,
		"parallel calls, lines of CRLF": rewritten(parallel, "\n", "\r\n"),
		"parallel calls, with comments": rewritten(parallel, "data: ", ": OPENROUTER PROCESSING\n\ndata:"),
		"the token limit":               cut(text("a", "b"), "length"),
		"a filter":                      cut(text("a", "b"), "content_filter"),
	} {
		t.Run("chat: "+name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, forSDK(answer))
			if diff := cmp.Diff(chatReading(t, s), ours(t, newModel(t, s, openai.Options{}))); diff != "" {
				t.Errorf("(-SDK +parley)\n%s", diff)
			}
		})
	}
	rich := respond(reasoning(0, "ENC", "if a<b ", "&& “c”"), saying(1, "I ", "<look> & ", "say 👍"),
		calling(2, "call_1", "look", `{"path" : "ü`, `ber"}`), calling(3, "call_2", "go", "{}"))
	refusing := `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"No <way>"}]}`
	for name, answer := range map[string][]string{
		"text":                      respond(saying(0, "Hel", "lo <&> ", "wörld\n")),
		"everything":                rich,
		"everything, lines of CRLF": rewritten(rich, "\n", "\r\n"),
		"everything, with comments": rewritten(rich, "data: ", ": still here\ndata:"),
		"the token limit":           ending("incomplete", `"usage":`+responseUsage, saying(0, "a", "b")),
		"a refusal": respond(output{refusing, []string{
			added(0, `{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`),
			event("response.refusal.delta", place(0, "msg_1")+`,"content_index":0,"delta":"No <way>"`), done(0, refusing),
		}}),
	} {
		t.Run("responses: "+name, func(t *testing.T) {
			t.Parallel()
			if name == "the token limit" {
				answer = rewritten(answer, `"incomplete_details":null,"output":[{`, `"incomplete_details":{"reason":"max_output_tokens"},"output":[{`)
			}
			s := serve(t, answer)
			if diff := cmp.Diff(responsesReading(t, s), ours(t, newResponses(t, s, openai.Options{}))); diff != "" {
				t.Errorf("(-SDK +parley)\n%s", diff)
			}
		})
	}
}
