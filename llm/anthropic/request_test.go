package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/llmtest"
	"parley/transcript"
)

// server answers each request with the next of some answers, and keeps all requests.
type server struct{ *llmtest.Recorder[body] }

func serve(t *testing.T, answers ...[]string) server {
	t.Helper()
	return server{llmtest.Record[body](t, llmtest.Streams("Request-Id", answers...))}
}

func (s server) body(n int) body {
	one := s.Requests()[n]
	one.Body.raw = one.Raw
	return one.Body
}

// body is a request body.
type body struct {
	raw        string
	Model      string          `json:"model"`
	MaxTokens  int             `json:"max_tokens"`
	Thinking   json.RawMessage `json:"thinking"`
	Output     json.RawMessage `json:"output_config"`
	Metadata   json.RawMessage `json:"metadata"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Temp       *float64        `json:"temperature"`
	TopP       *float64        `json:"top_p"`
	System     []struct {
		Text  string          `json:"text"`
		Cache json.RawMessage `json:"cache_control"`
	} `json:"system"`
	Messages []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
}

// outline is the roles and block types, joined by +, with * behind a cache breakpoint.
func (b body) outline() (out []string) {
	for _, m := range b.Messages {
		line := m.Role
		for _, raw := range m.Content {
			var block struct {
				Type  string          `json:"type"`
				Cache json.RawMessage `json:"cache_control"`
			}
			_ = json.Unmarshal(raw, &block)
			line += "+" + block.Type
			if block.Cache != nil {
				line += "*"
			}
		}
		out = append(out, line)
	}
	return out
}

func newModel(t *testing.T, s server, name string) *anthropic.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	m, err := anthropic.New(anthropic.Options{
		Provider: "main", Model: name, APIKey: "key", BaseURL: s.URL,
		HTTPClient: &http.Client{Transport: &llmtest.AnthropicValidator{T: t, Next: transport}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func said(role transcript.Role, parts ...transcript.Part) transcript.Message {
	return transcript.Message{Role: role, Parts: parts}
}

func words(s string) transcript.Part { return transcript.Text{Text: s} }

// TX21: what the provider signed comes back to it without a changed byte.
func TestThinkingGoesBackByteForByteAlsoWhenRedacted(t *testing.T) {
	t.Parallel()
	const redacted = `{"type":"redacted_thinking","data":"ENC<>&\u00e9/+=="}`
	const serverTool = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"a<b","n":1.50}}`
	answer := join([]string{start(firstUsage)},
		block(0, `{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":"if a<b && \u201cc\u201d\u2028"}`, `{"type":"thinking_delta","thinking":" then é"}`,
			`{"type":"signature_delta","signature":"c2ln<+/="}`),
		block(1, redacted), block(2, serverTool),
		block(3, `{"type":"text","text":""}`, `{"type":"text_delta","text":"<b>I look & see</b>"}`),
		block(4, `{"type":"text","text":""}`),
		block(5, `{"type":"tool_use","id":"toolu_1","name":"look","input":{},"caller":{"type":"direct"}}`,
			`{"type":"input_json_delta","partial_json":"{\"x\": 1.50, \"y\":\"<>\"}"}`),
		end("tool_use", lastUsage))
	s := serve(t, answer, text("ok"))
	m := newModel(t, s, model)
	r := llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}}
	resp, _, err := llmtest.Ask(t, m, r)
	if err != nil {
		t.Fatal(err)
	}

	// Through the stored form and back, as a real turn goes.
	stored, err := resp.Message.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var loaded transcript.Message
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, loaded, said(transcript.Tool, transcript.ToolResult{ToolCallID: "toolu_1", Name: "look", Content: "seen"}))
	if _, _, err := llmtest.Ask(t, m, r); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"type":"thinking","thinking":"if a<b && “c”\u2028 then é","signature":"c2ln<+/="}`,
		redacted,
		serverTool,
		`{"type":"text","text":"<b>I look & see</b>"}`,
		`{"type":"tool_use","id":"toolu_1","name":"look","input":{"x":1.50,"y":"<>"},"caller":{"type":"direct"}}`,
	}
	var got []string
	for _, raw := range s.body(1).Messages[1].Content {
		got = append(got, string(raw))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	other := newModel(t, s, "claude-sonnet-5-5")
	if _, _, err := llmtest.Ask(t, other, r); err != nil {
		t.Fatal(err)
	}
	wantOther := []string{"user+text*", "assistant+text+tool_use", "user+tool_result*"}
	if diff := cmp.Diff(wantOther, s.body(2).outline()); diff != "" {
		t.Errorf("to another model thinking is dropped (conflict 26): %s", diff)
	}
}

func TestNeighboursBecomeOneMessageWithResultsFirst(t *testing.T) { // conflict 23
	t.Parallel()
	s := serve(t, text("ok"))
	call := func(id string) transcript.Part { return transcript.ToolCall{ID: id, Name: "look", Input: "{}"} }
	result := func(id string) transcript.Part { return transcript.ToolResult{ToolCallID: id, Content: "seen"} }
	_, _, err := llmtest.Ask(t, newModel(t, s, model), llm.Request{Messages: []transcript.Message{
		said(transcript.User, words("one")),
		said(transcript.User, words("two"), transcript.Binary{MIMEType: "image/png", Data: []byte("png")}, transcript.ImageURL{URL: "https://a.b/c"}),
		said(transcript.Assistant, words(" "), call("a.1"), call("b:2"), call("b_2")),
		said(transcript.Tool, result("a.1")),
		said(transcript.User, words("three"), transcript.Binary{Path: "x.pdf", MIMEType: "application/pdf"}),
		said(transcript.Tool, result("b:2"), result("b_2")),
		said(transcript.Assistant, transcript.Reasoning{Thinking: "unsigned"}),
		said(transcript.User, words("four")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user+text+text+image+image*",
		"assistant+tool_use+tool_use+tool_use",
		"user+tool_result+tool_result+tool_result+text+text+text*",
	}
	b := s.body(0)
	if diff := cmp.Diff(want, b.outline()); diff != "" {
		t.Error(diff)
	}
	ids := map[string]int{}
	for i, m := range b.Messages[1:] {
		for _, raw := range m.Content[:3] {
			var block struct {
				ID     string `json:"id"`
				Result string `json:"tool_use_id"`
			}
			_ = json.Unmarshal(raw, &block)
			ids[block.ID+block.Result] += i + 1
		}
	}
	if len(ids) != 3 || ids["b_2"] != 3 {
		t.Errorf("ids of calls and results: %v", ids)
	}
}

func TestThereAreNeverMoreThanFourBreakpoints(t *testing.T) {
	t.Parallel()
	s := serve(t, text("ok"))
	var r llm.Request
	for i := range 6 {
		r.System = append(r.System, llm.SystemBlock{Text: fmt.Sprint("block ", i), Cache: i != 4}, llm.SystemBlock{Cache: true})
		r.Messages = append(r.Messages, said(transcript.User, words("q")), said(transcript.Assistant, words("a")))
	}
	r.Messages = append(r.Messages, said(transcript.User, words("last")))
	if _, _, err := llmtest.Ask(t, newModel(t, s, model), r); err != nil {
		t.Fatal(err)
	}
	b := s.body(0)
	if n := strings.Count(b.raw, `"cache_control"`); n != 4 {
		t.Errorf("%d breakpoints", n)
	}
	if len(b.System) != 6 || b.System[5].Cache == nil || b.System[4].Cache != nil || b.System[3].Cache == nil {
		t.Errorf("system: %+v", b.System)
	}
	if got := b.outline(); got[12] != "user+text*" || got[10] != "user+text*" || got[8] != "user+text" {
		t.Errorf("messages: %q", got)
	}
}

// The next request's text begins with the last one's, up to its breakpoint:
// what the cache is keyed by.
// Every breakpoint has the time that was asked for: a longer one may not stand behind a shorter.
func TestEveryBreakpointHasTheTimeThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[string]string{"": `{"type":"ephemeral"}`, "5m": `{"type":"ephemeral"}`, "1h": `{"type":"ephemeral","ttl":"1h"}`} {
		s := serve(t, text("ok"))
		r := llm.Request{
			System:     []llm.SystemBlock{{Text: "a", Cache: true}, {Text: "b", Cache: true}},
			Messages:   []transcript.Message{said(transcript.User, words("q")), said(transcript.Assistant, words("a")), said(transcript.User, words("last"))},
			Parameters: llm.Parameters{CacheTTL: ttl},
		}
		if _, _, err := llmtest.Ask(t, newModel(t, s, model), r); err != nil {
			t.Fatal(err)
		}
		if raw := s.body(0).raw; strings.Count(raw, `"cache_control":`+want) != 4 || strings.Count(raw, `"cache_control"`) != 4 {
			t.Errorf("%q: %s", ttl, raw)
		}
	}
}

func TestTheNextRequestContinuesTheLastOne(t *testing.T) {
	t.Parallel()
	s := serve(t, tool("toolu_1", "look", "{}"), text("ok"))
	m := newModel(t, s, model)
	r := llm.Request{System: []llm.SystemBlock{{Text: "be", Cache: true}}, Messages: []transcript.Message{said(transcript.User, words("go"))}}
	resp, _, err := llmtest.Ask(t, m, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, resp.Message, said(transcript.Tool, transcript.ToolResult{ToolCallID: "toolu_1", Content: "seen"}))
	if _, _, err := llmtest.Ask(t, m, r); err != nil {
		t.Fatal(err)
	}
	first, second := s.body(0), s.body(1)
	if string(first.Messages[0].Content[0]) != string(second.Messages[0].Content[0]) {
		t.Errorf("%s became %s", first.Messages[0].Content[0], second.Messages[0].Content[0])
	}
}

func TestParametersReachTheModelAsTheyAreAsked(t *testing.T) {
	t.Parallel()
	half := 0.5
	tools := []llm.Definition{{Name: "look"}}
	for _, c := range []struct {
		name, model string
		r           llm.Request
		want        string // max tokens, thinking, output config, temperature, top_p, tool choice
	}{
		{"defaults", "claude-opus-4-8", llm.Request{}, "128000     "},
		{"less output", "claude-opus-4-8", llm.Request{MaxTokens: 100}, "100     "},
		{"more output than there is", "claude-haiku-4-5", llm.Request{MaxTokens: 1e6}, "64000     "},
		{"an unknown model", "claude-x", llm.Request{}, "4096     "},
		{"effort", "claude-opus-4-8", llm.Request{Parameters: llm.Parameters{Effort: "low"}}, `128000  {"effort":"low"}   `},
		{"adaptive thinking", "claude-opus-4-8", llm.Request{Parameters: llm.Parameters{Thinking: llm.AdaptiveThinking, Effort: "max"}}, `128000 {"type":"adaptive"} {"effort":"max"}   `},
		{"adaptive thinking to be read", "claude-opus-4-8", llm.Request{Parameters: llm.Parameters{Thinking: llm.AdaptiveThinking, Summary: "auto"}}, `128000 {"display":"summarized","type":"adaptive"}    `},
		{"thinking to be read where it is done unasked", "claude-opus-5", llm.Request{Parameters: llm.Parameters{Summary: "auto"}}, `128000 {"display":"summarized","type":"adaptive"}    `},
		{"a budget", "claude-haiku-4-5", llm.Request{Parameters: llm.Parameters{Thinking: llm.Budgeted, Budget: 2048}}, `64000 {"budget_tokens":2048,"type":"enabled"}    `},
		{"a budget to be read", "claude-haiku-4-5", llm.Request{Parameters: llm.Parameters{Thinking: llm.Budgeted, Budget: 2048, Summary: "auto"}}, `64000 {"budget_tokens":2048,"display":"summarized","type":"enabled"}    `},
		{"less room than the budget", "claude-haiku-4-5", llm.Request{MaxTokens: 4000, Parameters: llm.Parameters{Thinking: llm.Budgeted, Budget: 4000}}, `4000 {"budget_tokens":2000,"type":"enabled"}    `},
		{"no room for a budget", "claude-haiku-4-5", llm.Request{MaxTokens: 2000, Parameters: llm.Parameters{Thinking: llm.Budgeted, Budget: 4000}}, `2000     `},
		{"no thinking", "claude-opus-5", llm.Request{Parameters: llm.Parameters{Thinking: llm.NoThinking}}, `128000 {"type":"disabled"}    `},
		{"no thinking but between tools", "claude-sonnet-5-5", llm.Request{Parameters: llm.Parameters{Thinking: llm.NoThinking}}, `128000 {"type":"between_tools"}    `},
		{"no thinking of an unknown model", "claude-x", llm.Request{Parameters: llm.Parameters{Thinking: llm.NoThinking}}, `4096 {"type":"disabled"}    `},
		{"thinking that is bound", "claude-opus-5-5", llm.Request{}, `128000 {"block_binding":{"prefix_mismatch_behavior":"drop_block"},"type":"adaptive"}    `},
		{"temperature", "claude-haiku-4-5", llm.Request{Parameters: llm.Parameters{Temperature: &half}}, `64000   0.5  `},
		{"top_p", "claude-haiku-4-5", llm.Request{Parameters: llm.Parameters{TopP: &half}}, `64000    0.5 `},
		{"a tool must be called", "claude-opus-4-8", llm.Request{Tools: tools, Choice: llm.Required, Parameters: llm.Parameters{Effort: "low", Thinking: llm.AdaptiveThinking}}, `128000  {"effort":"low"}   {"type":"any"}`},
		{"no tool may be called", "claude-opus-4-8", llm.Request{Tools: tools, Choice: llm.None}, `128000     {"type":"none"}`},
		{"a choice without tools", "claude-opus-4-8", llm.Request{Choice: llm.Required}, `128000     `},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, text("ok"))
			c.r.Messages = []transcript.Message{said(transcript.User, words("go"))}
			c.r.CacheKey = "k1"
			if _, _, err := llmtest.Ask(t, newModel(t, s, c.model), c.r); err != nil {
				t.Fatal(err)
			}
			b := s.body(0)
			number := func(f *float64) string {
				if f == nil {
					return ""
				}
				return fmt.Sprint(*f)
			}
			got := fmt.Sprintf("%d %s %s %s %s %s", b.MaxTokens, b.Thinking, b.Output, number(b.Temp), number(b.TopP), b.ToolChoice)
			if got != c.want || b.Model != c.model || string(b.Metadata) != `{"user_id":"k1"}` {
				t.Errorf("got  %q\nwant %q\n%s", got, c.want, b.Metadata)
			}
		})
	}
}

// Preserved thinking: with thinking off nothing says what becomes of thinking that stands
// behind something else, so none goes back.
func TestThinkingOfTheHistoryStaysAwayWhereItCouldBeRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model    string
		thinking llm.Thinking
		back     bool
	}{
		{"claude-haiku-5-5", llm.DefaultThinking, true},
		{"claude-haiku-5-5", llm.NoThinking, false},
		{"claude-sonnet-5-5", llm.NoThinking, false},
		{"claude-opus-4-8", llm.NoThinking, true},
	} {
		s := serve(t, text("ok"))
		m := newModel(t, s, c.model)
		earlier := said(transcript.Assistant)
		earlier.Native = &transcript.Native{Provider: m.Provider(), Model: m.Name(), Blocks: []json.RawMessage{
			json.RawMessage(signedThinking), json.RawMessage(hiddenThinking), json.RawMessage(`{"type":"text","text":"so"}`),
		}}
		if _, _, err := llmtest.Ask(t, m, llm.Request{
			Messages: []transcript.Message{said(transcript.User, words("go")), earlier, said(transcript.User, words("and?"))}, Parameters: llm.Parameters{Thinking: c.thinking},
		}); err != nil {
			t.Fatal(err)
		}
		if body := s.body(0).raw; strings.Contains(body, signedThinking) != c.back || strings.Contains(body, hiddenThinking) != c.back || !strings.Contains(body, `"text":"so"`) {
			t.Errorf("%s, thinking %q: %s", c.model, c.thinking, body)
		}
		if beta := s.Requests()[0].Header.Get("Anthropic-Beta"); (beta != "") != (c.model != "claude-opus-4-8") {
			t.Errorf("%s: header %q", c.model, beta)
		}
	}
}

func TestNothingComesFromTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_AUTH_TOKEN": "token-env", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Env: yes", "ANTHROPIC_PROFILE": "nobody", "ANTHROPIC_CONFIG_DIR": t.TempDir(),
		"ANTHROPIC_FEDERATION_RULE_ID": "r", "ANTHROPIC_ORGANIZATION_ID": "o", "ANTHROPIC_IDENTITY_TOKEN": "i",
		"ANTHROPIC_WORKSPACE_ID": "w", "ANTHROPIC_OPEN_TELEMETRY": "true",
	} {
		t.Setenv(name, value)
	}
	s := serve(t, text("ok"))
	if _, _, err := llmtest.Ask(t, newModel(t, s, model), llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}}); err != nil {
		t.Fatal(err)
	}
	h := s.Requests()[0].Header
	if h.Get("X-Api-Key") != "key" || h.Get("Authorization") != "" || h.Get("X-Env") != "" || h.Get("Anthropic-Workspace-Id") != "" {
		t.Errorf("%v", h)
	}
	for name, values := range h {
		if strings.Contains(strings.Join(values, " "), "env") {
			t.Errorf("%s: %s", name, values)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	whole := anthropic.Options{Provider: "p", Model: "m", APIKey: "sk-canary"}
	if m, err := anthropic.New(whole); err != nil || m.Provider() != "p" || m.Name() != "m" || m.Info().Window != llm.DefaultWindow {
		t.Errorf("%v, %v", m, err)
	}
	for name, spoil := range map[string]func(*anthropic.Options){
		"provider":         func(o *anthropic.Options) { o.Provider = "" },
		"model":            func(o *anthropic.Options) { o.Model = "" },
		"api key":          func(o *anthropic.Options) { o.APIKey = "" },
		"no host":          func(o *anthropic.Options) { o.BaseURL = "https:///v1" },
		"neither http":     func(o *anthropic.Options) { o.BaseURL = "ftp://sk-canary/" },
		"user, query":      func(o *anthropic.Options) { o.BaseURL = "https://x/?key=sk-canary" },
		"not a URL":        func(o *anthropic.Options) { o.BaseURL = "https://sk-canary\x7f/" },
		"user, query and ": func(o *anthropic.Options) { o.BaseURL = "https://u:sk-canary@x/" },
	} {
		o := whole
		spoil(&o)
		_, err := anthropic.New(o)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "sk-canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A call may have been stored with an id that the API does not take.
func TestAStoredCallGoesBackWithTheIDOfItsResult(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"functions.look:0", strings.Repeat("x", 60)} {
		s := serve(t, text("ok"))
		m := newModel(t, s, model)
		answer := said(transcript.Assistant, transcript.ToolCall{ID: id, Name: "look", Input: "{}", Finished: true})
		answer.Native = &transcript.Native{Provider: m.Provider(), Model: m.Name(), Blocks: []json.RawMessage{
			json.RawMessage(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"look","input":{},"caller":{"type":"direct"}}`, id)),
		}}
		if _, _, err := llmtest.Ask(t, m, llm.Request{Messages: []transcript.Message{
			said(transcript.User, words("go")), answer, said(transcript.Tool, transcript.ToolResult{ToolCallID: id, Content: "seen"}),
		}}); err != nil {
			t.Fatal(err)
		}
		var call, result struct {
			ID     string          `json:"id"`
			Of     string          `json:"tool_use_id"`
			Caller json.RawMessage `json:"caller"`
		}
		ms := s.body(0).Messages
		if err := errors.Join(json.Unmarshal(ms[1].Content[0], &call), json.Unmarshal(ms[2].Content[0], &result)); err != nil {
			t.Fatal(err)
		}
		if call.ID == "" || call.ID != result.Of || len(call.Caller) == 0 {
			t.Errorf("%q: the call is %s, its result %s", id, ms[1].Content[0], ms[2].Content[0])
		}
	}
}
