//go:build judges

package anthropic_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

// client is Anthropic's own, asking s as newModel does.
func client(t *testing.T, s server) sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sdk.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithBaseURL(s.URL), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: transport}),
	)
}

// inSDK holds the same conversations, written with the types of the SDK.
func inSDK() map[string]sdk.MessageNewParams {
	marked := func(b sdk.ContentBlockParamUnion) sdk.ContentBlockParamUnion {
		*b.GetCacheControl() = sdk.NewCacheControlEphemeralParam()
		return b
	}
	const question = "what is <this> & why?"
	look := sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
		Name: "look", Description: sdk.String("Looks <around> & says."),
		InputSchema: sdk.ToolInputSchemaParam{
			Properties: map[string]any{"path": map[string]any{"type": "string", "description": "a<b"}},
			Required:   []string{"path"}, ExtraFields: map[string]any{"additionalProperties": false},
		},
	}}
	plain := sdk.MessageNewParams{
		Model: model, MaxTokens: 128_000,
		Messages: []sdk.MessageParam{sdk.NewUserMessage(marked(sdk.NewTextBlock(question)))},
	}
	change := func(f func(p *sdk.MessageNewParams)) sdk.MessageNewParams {
		p := plain
		f(&p)
		return p
	}
	tooled := func(p *sdk.MessageNewParams) { p.Tools = []sdk.ToolUnionParam{look} }
	small := func(p *sdk.MessageNewParams) { p.Model, p.MaxTokens = "claude-haiku-4-5", 64_000 }
	return map[string]sdk.MessageNewParams{
		"words": plain,
		"system": change(func(p *sdk.MessageNewParams) {
			p.System = []sdk.TextBlockParam{
				{Text: "Be kind.", CacheControl: sdk.NewCacheControlEphemeralParam()},
				{Text: "Be <brief>."},
				{Text: "Today.", CacheControl: sdk.NewCacheControlEphemeralParam()},
			}
			p.MaxTokens, p.Metadata = 1000, sdk.MetadataParam{UserID: sdk.String("k1")}
		}),
		"tools": change(func(p *sdk.MessageNewParams) {
			p.Tools = []sdk.ToolUnionParam{look, {OfTool: &sdk.ToolParam{Name: "go", InputSchema: sdk.ToolInputSchemaParam{Type: "object"}}}}
		}),
		"a tool must be called": change(func(p *sdk.MessageNewParams) {
			tooled(p)
			p.ToolChoice = sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
			p.OutputConfig = sdk.OutputConfigParam{Effort: sdk.OutputConfigEffortLow}
		}),
		"no tool may be called": change(func(p *sdk.MessageNewParams) {
			tooled(p)
			p.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
		}),
		"results of parallel calls": change(func(p *sdk.MessageNewParams) {
			tooled(p)
			p.Messages = []sdk.MessageParam{
				sdk.NewUserMessage(marked(sdk.NewTextBlock(question))),
				sdk.NewAssistantMessage(sdk.NewTextBlock("I look."),
					sdk.NewToolUseBlock("toolu_1", map[string]any{"path": "a&b"}, "look"),
					sdk.NewToolUseBlock("toolu_2", map[string]any{"_raw": "oops"}, "look")),
				sdk.NewUserMessage(sdk.NewToolResultBlock("toolu_1", "<seen>", false), sdk.NewToolResultBlock("toolu_2", "no such file", true),
					marked(sdk.NewTextBlock("and now?"))),
			}
		}),
		"pictures": change(func(p *sdk.MessageNewParams) {
			p.Messages = []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("see"), sdk.NewImageBlockBase64("image/png", "cG5n"),
				sdk.NewImageBlock(sdk.URLImageSourceParam{URL: "https://a.b/c?d&e"}), marked(sdk.NewTextBlock("[attachment: x.pdf (application/pdf)]")))}
		}),
		"thinking goes back": change(func(p *sdk.MessageNewParams) {
			tooled(p)
			p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
			p.OutputConfig = sdk.OutputConfigParam{Effort: sdk.OutputConfigEffortHigh}
			p.Messages = []sdk.MessageParam{
				sdk.NewUserMessage(marked(sdk.NewTextBlock(question))),
				sdk.NewAssistantMessage(sdk.NewThinkingBlock("c2ln<+/=", "if a<b && “c”"), sdk.NewRedactedThinkingBlock("ENC+/=="), sdk.NewTextBlock("I <look>."),
					sdk.NewToolUseBlock("toolu_1", json.RawMessage(`{"path":"a","n":1.50}`), "look")),
				sdk.NewUserMessage(marked(sdk.NewToolResultBlock("toolu_1", "seen", false))),
			}
		}),
		"thinking by a budget": change(func(p *sdk.MessageNewParams) {
			small(p)
			p.Thinking = sdk.ThinkingConfigParamOfEnabled(2048)
		}),
		"temperature": change(func(p *sdk.MessageNewParams) { small(p); p.Temperature = sdk.Float(0.5) }),
		"top_p":       change(func(p *sdk.MessageNewParams) { small(p); p.TopP = sdk.Float(0.95) }),
	}
}

// meaning is a body without the two things that the SDK writes in another way:
// a result of one text as a list of it, and that a result is no error.
func meaning(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	for _, m := range v["messages"].([]any) {
		for _, c := range m.(map[string]any)["content"].([]any) {
			block := c.(map[string]any)
			if block["type"] != "tool_result" {
				continue
			}
			if list, ok := block["content"].([]any); ok && len(list) == 1 {
				block["content"] = list[0].(map[string]any)["text"]
			}
			if block["is_error"] == false {
				delete(block, "is_error")
			}
		}
	}
	return v
}

func TestParleySendsWhatAnthropicsSDKSends(t *testing.T) {
	t.Parallel()
	theirs := inSDK()
	for _, c := range conversations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ok := theirs[c.name]
			if !ok {
				t.Fatal("the SDK is not asked")
			}
			s := serve(t, text("ok"))
			if _, _, err := llmtest.Ask(t, newModel(t, s, c.model), c.r); err != nil {
				t.Fatal(err)
			}
			own := client(t, s)
			stream := own.Messages.NewStreaming(t.Context(), p)
			defer func() { _ = stream.Close() }()
			for stream.Next() {
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(meaning(t, s.body(1).raw), meaning(t, s.body(0).raw)); diff != "" {
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
			if diff := cmp.Diff(s.Requests()[1].Header, s.Requests()[0].Header); diff != "" {
				t.Errorf("headers (-SDK +parley)\n%s", diff)
			}
		})
	}
}

// reading is what an answer says, as far as both readers know it.
type reading struct {
	Text, Thinking string
	Calls          []transcript.ToolCall // without Finished
	Reason         transcript.FinishReason
	Usage          costs.Usage // without its source
}

func ours(t *testing.T, s server) (r reading) {
	t.Helper()
	resp, _, err := llmtest.Ask(t, newModel(t, s, model), greeting())
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

func theirs(t *testing.T, s server) (r reading) {
	t.Helper()
	own := client(t, s)
	stream := own.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{
		Model: model, MaxTokens: 1, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("go"))},
	})
	defer func() { _ = stream.Close() }()
	var m sdk.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			r.Text += b.Text
		case "thinking":
			r.Thinking += b.Thinking
		case "tool_use":
			r.Calls = append(r.Calls, transcript.ToolCall{ID: b.ID, Name: b.Name, Input: string(b.Input)})
		}
	}
	r.Reason = map[sdk.StopReason]transcript.FinishReason{
		sdk.StopReasonEndTurn: transcript.EndTurn, sdk.StopReasonStopSequence: transcript.EndTurn, sdk.StopReasonToolUse: transcript.ToolUse,
		sdk.StopReasonMaxTokens: transcript.MaxTokens, sdk.StopReasonRefusal: transcript.Refusal, sdk.StopReasonPauseTurn: llm.PauseTurn,
	}[m.StopReason]
	u := m.Usage
	r.Usage = costs.Usage{
		Input: u.InputTokens, CacheRead: u.CacheReadInputTokens, Output: u.OutputTokens, Reasoning: u.OutputTokensDetails.ThinkingTokens,
		CacheWrite5m: u.CacheCreationInputTokens - u.CacheCreation.Ephemeral1hInputTokens, CacheWrite1h: u.CacheCreation.Ephemeral1hInputTokens,
		Tier: string(u.ServiceTier), Speed: string(u.Speed), Geo: u.InferenceGeo,
	}
	if n := u.ServerToolUse.WebSearchRequests; n > 0 {
		r.Usage.ServerTools = map[string]int64{"web_search": n}
	}
	return r
}

func TestParleyReadsWhatAnthropicsSDKReads(t *testing.T) {
	t.Parallel()
	call := func(index int, id string, pieces ...string) []string {
		var deltas []string
		for _, p := range pieces {
			deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+llmtest.Quote(p)+`}`)
		}
		return block(index, `{"type":"tool_use","id":"`+id+`","name":"look","input":{}}`, deltas...)
	}
	rich := join([]string{start(firstUsage), ping},
		block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"if a<b "}`, `{"type":"thinking_delta","thinking":"&& “c”"}`, `{"type":"signature_delta","signature":"c2ln"}`),
		block(1, `{"type":"redacted_thinking","data":"ENC"}`),
		block(2, `{"type":"text","text":""}`, textDeltas([]string{"I ", "<look>\u2028 & ", "say 👍"})...),
		[]string{ping}, call(3, "toolu_1", "", `{"path" : "ü`, `ber","n":1.50}`), call(4, "toolu_2"), end("tool_use", lastUsage))
	rewritten := func(answer []string, old, replacement string) []string {
		return []string{strings.ReplaceAll(strings.Join(answer, ""), old, replacement)}
	}
	for name, answer := range map[string][]string{
		"text":                           text("Hel", "lo <&> ", "wörld\n"),
		"thinking":                       thinking("hm <b> & so", "yes"),
		"a call":                         tool("toolu_1", "look", `{"a" : `, `[1,2`, `]}`),
		"everything":                     rich,
		"everything, lines end in CRLF":  rewritten(rich, "\n", "\r\n"),
		"everything, no space after ':'": rewritten(rewritten(rich, "data: ", "data:"), "event: ", "event:"),
		"comments between the lines":     rewritten(rich, "data: ", ": still here\ndata: "),
		"the token limit":                slices.Concat(text("a", "b")[:6], end("max_tokens", lastUsage)),
		"a refusal":                      slices.Concat(text("a", "b")[:6], end("refusal", lastUsage)),
		"a pause": join([]string{start(firstUsage)},
			block(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"a\"}"}`),
			end("pause_turn", lastUsage)),
		"usage that rises at the end": join(
			[]string{start(`{"input_tokens":2,"cache_creation_input_tokens":3068,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":3068,"ephemeral_1h_input_tokens":0},"output_tokens":4,"service_tier":"priority","inference_geo":"us","speed":"fast"}`)},
			block(0, `{"type":"text","text":"begun"}`, textDeltas([]string{" and done"})...),
			end("stop_sequence", `,"usage":{"input_tokens":6,"cache_creation_input_tokens":3068,"cache_read_input_tokens":6289,"output_tokens":127}`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answer)
			if diff := cmp.Diff(theirs(t, s), ours(t, s)); diff != "" {
				t.Errorf("(-SDK +parley)\n%s", diff)
			}
		})
	}
}
