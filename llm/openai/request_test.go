package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

// server answers each request with the next of some answers, and keeps all requests.
type server struct{ *llmtest.Recorder[body] }

func serve(t *testing.T, answers ...[]string) server {
	t.Helper()
	return server{llmtest.Record[body](t, llmtest.Streams("X-Request-Id", answers...))}
}

func (s server) body(n int) body {
	one := s.Requests()[n]
	one.Body.raw = one.Raw
	return one.Body
}

func serveFunc(t *testing.T, answer func(http.ResponseWriter)) server {
	t.Helper()
	return server{llmtest.Record[body](t, func(_ int, w http.ResponseWriter) { answer(w) })}
}

func (s server) last() body { return s.body(len(s.Requests()) - 1) }

// body is a request body.
type body struct {
	raw       string
	Model     string            `json:"model"`
	Messages  []json.RawMessage `json:"messages"`
	Max       int               `json:"max_completion_tokens"`
	OldMost   int               `json:"max_tokens"`
	Effort    string            `json:"reasoning_effort"`
	Temp      *float64          `json:"temperature"`
	TopP      *float64          `json:"top_p"`
	CacheKey  string            `json:"prompt_cache_key"`
	Choice    json.RawMessage   `json:"tool_choice"`
	StreamOpt json.RawMessage   `json:"stream_options"`
}

func newModel(t *testing.T, s server, o openai.Options) *openai.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.Provider, o.HTTPClient, o.BaseURL = "main", &http.Client{Transport: transport}, s.URL+"/api/v1"
	if o.Model == "" {
		o.Model = "gpt-5.6-sol"
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func said(role transcript.Role, parts ...transcript.Part) transcript.Message {
	return transcript.Message{Role: role, Parts: parts}
}

func words(s string) transcript.Part { return transcript.Text{Text: s} }

func TestMessagesAreWrittenAsTheProtocolHasThem(t *testing.T) { // F16, conflict 23
	t.Parallel()
	s := serve(t, text("ok"))
	_, _, err := llmtest.Ask(t, newModel(t, s, openai.Options{}), llm.Request{
		System: []llm.SystemBlock{{Text: "one", Cache: true}, {}, {Text: "two"}},
		Messages: []transcript.Message{
			said(transcript.User, words("hi"), words("there <b>")),
			said(transcript.User, words("see"), transcript.Binary{MIMEType: "image/png", Data: []byte("png")}, transcript.ImageURL{URL: "https://a.b/c", Detail: "low"}, transcript.Binary{Path: "x.pdf", MIMEType: "application/pdf"}),
			said(transcript.Assistant, transcript.Reasoning{Thinking: "hm"}, words("I look"),
				transcript.ToolCall{ID: "a", Name: "look", Input: `{"q": 1}`}, transcript.ToolCall{ID: "b:1", Name: "look", Input: `oops`}),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "a", Content: "seen"}, transcript.ToolResult{ToolCallID: "b:1", Content: "Error: no", IsError: true}),
			said(transcript.Assistant, transcript.Reasoning{Thinking: "nothing said"}),
			said(transcript.User),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.body(0).Messages {
		var v any
		_ = json.Unmarshal(m, &v)
		flat, _ := json.Marshal(v) // keys in order
		got = append(got, string(flat))
	}
	want := []string{
		`{"content":"one\n\ntwo","role":"system"}`,
		`{"content":"hi\nthere \u003cb\u003e","role":"user"}`,
		`{"content":[{"text":"see","type":"text"},{"image_url":{"detail":"high","url":"data:image/png;base64,cG5n"},"type":"image_url"},{"image_url":{"detail":"low","url":"https://a.b/c"},"type":"image_url"},{"text":"[attachment: x.pdf (application/pdf)]","type":"text"}],"role":"user"}`,
		`{"content":"I look","role":"assistant","tool_calls":[{"function":{"arguments":"{\"q\": 1}","name":"look"},"id":"a","type":"function"},{"function":{"arguments":"{\"_raw\":\"oops\"}","name":"look"},"id":"ID","type":"function"}]}`,
		`{"content":"seen","role":"tool","tool_call_id":"a"}`,
		`{"content":"Error: no","role":"tool","tool_call_id":"ID"}`,
	}
	var last struct {
		ID string `json:"tool_call_id"`
	}
	_ = json.Unmarshal(s.body(0).Messages[len(got)-1], &last)
	if last.ID == "b:1" || last.ID == "" || len(last.ID) > 40 {
		t.Errorf("id %q", last.ID)
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], last.ID, "ID")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParametersReachTheServerAsTheyAreAsked(t *testing.T) {
	t.Parallel()
	half := 0.5
	tools := []llm.Definition{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}
	for _, c := range []struct {
		name string
		o    openai.Options
		r    llm.Request
		want string // max_completion_tokens max_tokens effort temperature top_p cache key, choice
	}{
		{"defaults", openai.Options{}, llm.Request{}, "128000 0     "},
		{"an old server", openai.Options{LegacyMaxTokens: true}, llm.Request{MaxTokens: 7}, "0 7     "},
		{"an unknown model", openai.Options{Model: "llama"}, llm.Request{Parameters: llm.Parameters{Effort: "low", Temperature: &half, TopP: &half}}, "4096 0 low 0.5 0.5  "},
		{"a model that the operator describes", openai.Options{Model: "x", Info: llm.Info{Window: 9000, MaxOutput: 500}}, llm.Request{MaxTokens: 900}, "500 0     "},
		{"effort", openai.Options{}, llm.Request{Parameters: llm.Parameters{Effort: "high"}}, "128000 0 high    "},
		{"temperature", openai.Options{}, llm.Request{Parameters: llm.Parameters{Temperature: &half}}, "128000 0  0.5   "},
		{"top_p", openai.Options{}, llm.Request{Parameters: llm.Parameters{TopP: &half}}, "128000 0   0.5  "},
		{"a model whose most nobody knows", openai.Options{Info: llm.Info{Window: 9000}}, llm.Request{}, "0 0     "},
		{"a cache key, elsewhere", openai.Options{}, llm.Request{CacheKey: "k"}, "128000 0     "},
		{"a cache key where wanted", openai.Options{PromptCacheKey: true}, llm.Request{CacheKey: "k"}, "128000 0    k "},
		{"a tool must be called", openai.Options{}, llm.Request{Tools: tools, Choice: llm.Required}, `128000 0     "required"`},
		{"no tool may be called", openai.Options{}, llm.Request{Tools: tools, Choice: llm.None}, `128000 0     "none"`},
		{"a choice without tools", openai.Options{}, llm.Request{Choice: llm.Required}, "128000 0     "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, text("ok"))
			c.r.Messages = greeting().Messages
			if _, _, err := llmtest.Ask(t, newModel(t, s, c.o), c.r); err != nil {
				t.Fatal(err)
			}
			b := s.body(0)
			number := func(f *float64) string {
				if f == nil {
					return ""
				}
				return fmt.Sprint(*f)
			}
			got := fmt.Sprintf("%d %d %s %s %s %s %s", b.Max, b.OldMost, b.Effort, number(b.Temp), number(b.TopP), b.CacheKey, b.Choice)
			if got != c.want || strings.Contains(b.raw, "tokens\":0") || string(b.StreamOpt) != `{"include_usage":true}` || s.Requests()[0].Path != "/api/v1/chat/completions" {
				t.Errorf("got  %q\nwant %q\n%s %s", got, c.want, b.StreamOpt, s.Requests()[0].Path)
			}
		})
	}
}

func TestNothingComesFromTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-env", "OPENAI_ADMIN_KEY": "sk-env", "OPENAI_BASE_URL": "http://127.0.0.1:1/",
		"OPENAI_ORG_ID": "org-env", "OPENAI_PROJECT_ID": "proj-env", "OPENAI_CUSTOM_HEADERS": "X-Env: env",
		"OPENAI_WEBHOOK_SECRET": "env",
	} {
		t.Setenv(name, value)
	}
	for _, key := range []string{"", "key"} {
		s := serve(t, text("ok"))
		if _, _, err := llmtest.Ask(t, newModel(t, s, openai.Options{APIKey: key, Headers: map[string]string{"X-Title": "parley"}}), greeting()); err != nil {
			t.Fatal(err)
		}
		h := s.Requests()[0].Header
		want := ""
		if key != "" {
			want = "Bearer key"
		}
		if h.Get("Authorization") != want || h.Get("X-Title") != "parley" || h.Get("Openai-Organization") != "" || h.Get("Openai-Project") != "" {
			t.Errorf("%v", h)
		}
		for name, values := range h {
			if strings.Contains(strings.Join(values, " "), "env") {
				t.Errorf("%s: %s", name, values)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	whole := openai.Options{Provider: "p", Model: "gpt-4o", APIKey: "sk-canary"}
	if m, err := openai.New(whole); err != nil || m.Provider() != "p" || m.Name() != "gpt-4o" || m.Info().Window != 128_000 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := openai.New(openai.Options{Provider: "p", Model: "m", BaseURL: "http://localhost:11434/v1"}); err != nil {
		t.Errorf("a local server without a key: %v", err)
	}
	for name, spoil := range map[string]func(*openai.Options){
		"provider":     func(o *openai.Options) { o.Provider = "" },
		"model":        func(o *openai.Options) { o.Model = "" },
		"api key":      func(o *openai.Options) { o.APIKey = "" },
		"no host":      func(o *openai.Options) { o.BaseURL = "https:///v1" },
		"neither http": func(o *openai.Options) { o.BaseURL = "ftp://sk-canary/" },
		"user, query":  func(o *openai.Options) { o.BaseURL = "https://x/?key=sk-canary" },
	} {
		o := whole
		spoil(&o)
		_, err := openai.New(o)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "sk-canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
