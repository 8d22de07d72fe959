package llmtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const good = `{"model":"claude-opus-4-8","max_tokens":100,"stream":true,
 "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
 "tools":[{"name":"look","input_schema":{"type":"object"}}],
 "messages":[
  {"role":"user","content":[{"type":"text","text":"hi"}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}]}`

func TestTheSchemaTakesAGoodRequestAndRefusesEveryPlantedFault(t *testing.T) {
	t.Parallel()
	if err := llmtest.CheckAnthropic([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string][2]string{
		"no model":                     {`"model":"claude-opus-4-8",`, ``},
		"no max_tokens":                {`"max_tokens":100,`, ``},
		"max_tokens as a text":         {`"max_tokens":100`, `"max_tokens":"100"`},
		"an unknown key":               {`"stream":true`, `"stream":true,"strem":true`},
		"a message of role system":     {`{"role":"user","content":[{"type":"text","text":"hi"}]}`, `{"role":"tool","content":"hi"}`},
		"a block of unknown type":      {`"type":"text","text":"hi"`, `"type":"txt","text":"hi"`},
		"thinking without a signature": {`,"signature":"s"`, ``},
		"a result without its call id": {`"tool_use_id":"toolu_1",`, ``},
		"a call id with a colon":       {`"id":"toolu_1"`, `"id":"look:0"`},
		"arguments as a text":          {`"input":{}`, `"input":"{}"`},
		"a tool without a schema":      {`,"input_schema":{"type":"object"}`, ``},
		"a tool name with a dot":       {`{"name":"look"`, `{"name":"lo.ok"`},
		"a breakpoint without a type":  {`"cache_control":{"type":"ephemeral"}`, `"cache_control":{}`},
		"not JSON":                     {`{"model"`, `{model`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, fault[0], fault[1], 1)
			if bad == good {
				t.Fatal("the fault was not planted")
			}
			if err := llmtest.CheckAnthropic([]byte(bad)); err == nil {
				t.Errorf("taken: %s", bad)
			}
		})
	}
}

// recorder is a testing.TB that only notes that a test would have failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (*recorder) Helper()                 {}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTheValidatingTransportFailsTheTestAndSendsTheRequestUnchanged(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/v1/messages": true, "/v1/models": false} {
		r := &recorder{TB: t}
		var sent []byte
		v := &llmtest.AnthropicValidator{T: r, Next: roundTrip(func(req *http.Request) (resp *http.Response, err error) {
			sent, err = io.ReadAll(req.Body)
			return nil, err
		})}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://model.invalid"+path, bytes.NewReader([]byte(`{"bad":1}`)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if r.failed != want || string(sent) != `{"bad":1}` {
			t.Errorf("%s: failed %v, sent %s", path, r.failed, sent)
		}
	}
}

func collect(ctx context.Context, m llm.Model, r llm.Request) (types []llm.EventType, resp *llm.Response, fault *llm.Error) {
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			fault, _ = errors.AsType[*llm.Error](err)
			continue
		}
		types = append(types, e.Type)
		resp = e.Response
	}
	return types, resp, fault
}

func TestAScriptPlaysItsTurnsInOrder(t *testing.T) {
	t.Parallel()
	s := llmtest.NewScript(
		llmtest.Turn{llmtest.Thinking("hm"), llmtest.Text("I look."), llmtest.Call{ID: "c1", Name: "look"}},
		llmtest.Turn{llmtest.Text("done"), llmtest.Usage{Input: 5, Output: 7, Source: costs.Reported}, llmtest.Finish(transcript.MaxTokens)},
		llmtest.Turn{llmtest.Text("par"), llmtest.Fail{Kind: llm.Overloaded, Status: 529}},
		llmtest.Turn{llmtest.Usage{Input: 3}, llmtest.Cut{}},
	)
	types, resp, fault := collect(t.Context(), s, llm.Request{CacheKey: "1"})
	want := []llm.EventType{
		llm.ThinkingDelta, llm.ContentStart, llm.ContentDelta, llm.ContentStop,
		llm.ToolUseStart, llm.ToolUseDelta, llm.ToolUseStop, llm.Complete,
	}
	if diff := cmp.Diff(want, types); diff != "" || fault != nil {
		t.Errorf("%v\n%s", fault, diff)
	}
	if resp.Finish != transcript.ToolUse || len(resp.Message.Calls()) != 1 || resp.Message.Calls()[0].Input != "{}" || resp.Usage.Output == 0 {
		t.Errorf("%+v", resp)
	}
	_, resp, _ = collect(t.Context(), s, llm.Request{CacheKey: "2"})
	if resp.Finish != transcript.MaxTokens || resp.Usage.Output != 7 || s.Remaining() != 2 {
		t.Errorf("%+v", resp)
	}
	_, resp, fault = collect(t.Context(), s, llm.Request{CacheKey: "3"})
	if resp != nil || fault == nil || fault.Kind != llm.Overloaded || !fault.Visible || fault.Received != 3 || fault.Provider != "script" {
		t.Errorf("%+v", fault)
	}
	_, _, fault = collect(t.Context(), s, llm.Request{CacheKey: "4"})
	if fault == nil || fault.Kind != llm.Network || fault.Visible || !fault.Retryable() || fault.Usage == nil {
		t.Errorf("%+v", fault)
	}
	_, _, fault = collect(t.Context(), s, llm.Request{CacheKey: "5"})
	if fault == nil || fault.Kind != llm.Other {
		t.Errorf("%+v", fault)
	}
	if rs := s.Requests(); len(rs) != 5 || rs[3].CacheKey != "4" {
		t.Errorf("%+v", rs)
	}
}

func TestAScriptWaitsAndIsCancelled(t *testing.T) {
	t.Parallel()
	never, reached := make(chan struct{}), make(chan struct{})
	s := llmtest.NewScript(llmtest.Turn{llmtest.Text("a"), llmtest.Notify(reached), llmtest.Wait(never), llmtest.Text("b")})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	_, resp, fault := collect(ctx, s, llm.Request{})
	if resp != nil || fault == nil || fault.Kind != llm.Canceled || !fault.Visible || !errors.Is(fault, context.Canceled) {
		t.Errorf("%+v", fault)
	}
	if _, _, fault := collect(ctx, llmtest.NewScript(llmtest.Turn{}), llm.Request{}); fault == nil || fault.Kind != llm.Canceled || fault.Visible {
		t.Errorf("%+v", fault)
	}
}

func TestAScriptIsSafeForManyAtOnceAndAnswersForEver(t *testing.T) {
	t.Parallel()
	s := &llmtest.Script{Reply: func(_ int, r llm.Request) llmtest.Turn { return llmtest.Turn{llmtest.Text(r.CacheKey)} }}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if _, resp, fault := collect(t.Context(), s, llm.Request{CacheKey: "x"}); fault != nil || resp.Message.Text() != "x" {
				t.Error(fault)
			}
		})
	}
	wg.Wait()
	if len(s.Requests()) != 32 {
		t.Errorf("%d requests", len(s.Requests()))
	}
	for _, err := range s.Stream(t.Context(), llm.Request{CacheKey: "x"}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}
