package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

// sent is a request in this protocol. The items of Input are byte for byte.
type sent struct {
	Model, Instructions string
	Stream              bool
	Store               *bool
	Include             []string
	Input               []json.RawMessage
	Max                 int             `json:"max_output_tokens"`
	Reasoning           json.RawMessage `json:"reasoning"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	CacheKey            string          `json:"prompt_cache_key"`
	Tier                string          `json:"service_tier"`
	Tools               json.RawMessage `json:"tools"`
	Choice              json.RawMessage `json:"tool_choice"`
}

func sentTo(t *testing.T, s server) sent {
	t.Helper()
	var v sent
	if err := json.Unmarshal([]byte(s.last().raw), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheHistoryIsWrittenAsItems(t *testing.T) {
	t.Parallel()
	s := serve(t, respond(saying(0, "ok")))
	_, _, err := llmtest.Ask(t, newResponses(t, s, openai.Options{}), llm.Request{
		System: []llm.SystemBlock{{Text: "one", Cache: true}, {}, {Text: "two"}},
		Messages: []transcript.Message{
			said(transcript.User, words("hi"), words("there <b>")),
			said(transcript.User, words("see"), transcript.Binary{MIMEType: "image/png", Data: []byte("png")}, transcript.ImageURL{URL: "https://a.b/c", Detail: "low"}, transcript.Binary{Path: "x.pdf", MIMEType: "application/pdf"}),
			said(transcript.Assistant, transcript.Reasoning{Thinking: "hm"}, words("I look"), transcript.ToolCall{ID: "a", Name: "look", Input: `{"q": 1}`}, transcript.ToolCall{ID: "b", Name: "look", Input: `oops`}),
			said(transcript.Tool, transcript.ToolResult{ToolCallID: "a", Content: "seen"}, transcript.ToolResult{ToolCallID: "b", Content: "Error: no", IsError: true}),
			said(transcript.Assistant, transcript.Reasoning{Thinking: "nothing said"}),
			said(transcript.User),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := sentTo(t, s)
	want := []string{
		`{"content":"hi\nthere <b>","role":"user","type":"message"}`,
		`{"content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"high"},{"type":"input_image","image_url":"https://a.b/c","detail":"low"},{"type":"input_text","text":"[attachment: x.pdf (application/pdf)]"}],"role":"user","type":"message"}`,
		`{"content":"I look","role":"assistant","type":"message"}`,
		`{"arguments":"{\"q\": 1}","call_id":"a","name":"look","type":"function_call"}`,
		`{"arguments":"{\"_raw\":\"oops\"}","call_id":"b","name":"look","type":"function_call"}`,
		`{"call_id":"a","output":"seen","type":"function_call_output"}`,
		`{"call_id":"b","output":"Error: no","type":"function_call_output"}`,
	}
	if diff := cmp.Diff(want, texts(got.Input)); diff != "" {
		t.Error(diff)
	}
	if got.Instructions != "one\n\ntwo" || got.Store == nil || *got.Store || !got.Stream {
		t.Errorf("%+v", got)
	}
}

func texts(raw []json.RawMessage) (list []string) {
	for _, r := range raw {
		list = append(list, string(r))
	}
	return list
}

func TestParametersOfResponsesReachTheModelAsTheyAreAsked(t *testing.T) {
	t.Parallel()
	half := 0.5
	tools := []llm.Definition{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "go"}}
	const written = `[{"type":"function","name":"look","parameters":{"type":"object"},"strict":false},{"type":"function","name":"go","parameters":{"type":"object","properties":{}},"strict":false}]`
	for _, c := range []struct {
		name string
		o    openai.Options
		r    llm.Request
		want string // max_output_tokens, include, reasoning, temperature, top_p, cache key, tools, choice
	}{
		{"defaults", openai.Options{}, llm.Request{}, "128000 [reasoning.encrypted_content]      "},
		{"effort", openai.Options{}, llm.Request{Parameters: llm.Parameters{Effort: "high"}}, `128000 [reasoning.encrypted_content] {"effort":"high"}     `},
		{"a summary", openai.Options{}, llm.Request{Parameters: llm.Parameters{Summary: "auto"}}, `128000 [reasoning.encrypted_content] {"summary":"auto"}     `},
		{"temperature", openai.Options{Model: "gpt-4.1"}, llm.Request{Parameters: llm.Parameters{Temperature: &half}}, "32768 []  0.5    "},
		{"top_p", openai.Options{Model: "gpt-4.1"}, llm.Request{Parameters: llm.Parameters{TopP: &half}}, "32768 []   0.5   "},
		{"an unknown model that is to reason", openai.Options{Model: "x"}, llm.Request{Parameters: llm.Parameters{Effort: "low", Summary: "detailed"}}, `4096 [reasoning.encrypted_content] {"effort":"low","summary":"detailed"}     `},
		{"reasoning that is not wanted back", openai.Options{DropReasoning: true}, llm.Request{Parameters: llm.Parameters{Effort: "low"}}, `128000 [] {"effort":"low"}     `},
		{"less than the least", openai.Options{}, llm.Request{MaxTokens: 3}, "16 [reasoning.encrypted_content]      "},
		{"more than there is", openai.Options{Model: "gpt-4.1"}, llm.Request{MaxTokens: 99_999}, "32768 []      "},
		{"a model whose most nobody knows", openai.Options{Info: llm.Info{Window: 9000}}, llm.Request{}, "0 []      "},
		{"a cache key, elsewhere", openai.Options{}, llm.Request{CacheKey: "k"}, "128000 [reasoning.encrypted_content]      "},
		{"a cache key where wanted", openai.Options{PromptCacheKey: true}, llm.Request{CacheKey: "k"}, "128000 [reasoning.encrypted_content]    k  "},
		{"tools", openai.Options{}, llm.Request{Tools: tools}, "128000 [reasoning.encrypted_content]     " + written + " "},
		{"a tool must be called", openai.Options{}, llm.Request{Tools: tools, Choice: llm.Required}, "128000 [reasoning.encrypted_content]     " + written + ` "required"`},
		{"a choice without tools", openai.Options{}, llm.Request{Choice: llm.Required}, "128000 [reasoning.encrypted_content]      "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, respond(saying(0, "ok")))
			c.r.Messages = greeting().Messages
			if _, _, err := llmtest.Ask(t, newResponses(t, s, c.o), c.r); err != nil {
				t.Fatal(err)
			}
			number := func(f *float64) string {
				if f == nil {
					return ""
				}
				return fmt.Sprint(*f)
			}
			b := sentTo(t, s)
			got := fmt.Sprintf("%d %v %s %s %s %s %s %s", b.Max, b.Include, b.Reasoning, number(b.Temperature), number(b.TopP), b.CacheKey, b.Tools, b.Choice)
			if got != c.want || s.Requests()[0].Path != "/api/v1/responses" || b.Tier != "" {
				t.Errorf("got  %q\nwant %q\n%s %q", got, c.want, s.Requests()[0].Path, b.Tier)
			}
		})
	}
}

// remember is a transport that keeps the request and answers.
type remember struct {
	answer []string
	url    string
	body   []byte
}

func (r *remember) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	r.url = req.URL.String()
	if r.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(strings.Join(r.answer, ""))),
	}, nil
}

func TestOpenAIIsAskedForTheTierThatTheBudgetReserves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, base, host, tier string
	}{
		{"OpenAI", "", "https://api.openai.com/v1/", "default"},
		{"OpenAI, by its address", "https://api.openai.com/v1", "https://api.openai.com/v1/", "default"},
		{"another server", "https://model.invalid/v1", "https://model.invalid/v1/", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chat, responses := &remember{answer: text("ok")}, &remember{answer: respond(saying(0, "ok"))}
			o := openai.Options{Provider: "p", Model: "gpt-5.6-sol", APIKey: "k", BaseURL: c.base}
			for path, r := range map[string]*remember{"chat/completions": chat, "responses": responses} {
				o.HTTPClient = &http.Client{Transport: r}
				var m llm.Model
				var err error
				if r == chat {
					m, err = openai.New(o)
				} else {
					m, err = openai.NewResponses(o)
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := llmtest.Ask(t, m, greeting()); err != nil {
					t.Fatal(err)
				}
				var body struct {
					Tier string `json:"service_tier"`
				}
				if err := json.Unmarshal(r.body, &body); err != nil {
					t.Fatal(err)
				}
				if r.url != c.host+path || body.Tier != c.tier {
					t.Errorf("%s: %s", r.url, r.body)
				}
			}
		})
	}
}

func TestResponsesTakeNothingFromTheEnvironmentAndCheckTheirOptions(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": "http://127.0.0.1:1/", "OPENAI_ORG_ID": "org-env", "OPENAI_CUSTOM_HEADERS": "X-Env: env",
	} {
		t.Setenv(name, value)
	}
	s := serve(t, respond(saying(0, "ok")))
	if _, _, err := llmtest.Ask(t, newResponses(t, s, openai.Options{APIKey: "key", Headers: map[string]string{"X-Title": "parley"}}), greeting()); err != nil {
		t.Fatal(err)
	}
	h := s.Requests()[0].Header
	if h.Get("Authorization") != "Bearer key" || h.Get("X-Title") != "parley" || h.Get("Content-Type") != "application/json" || h.Get("X-Env") != "" {
		t.Errorf("%v", h)
	}
	if _, err := openai.NewResponses(openai.Options{Provider: "p", Model: "m"}); err == nil {
		t.Error("OpenAI without a key was taken")
	}
}
