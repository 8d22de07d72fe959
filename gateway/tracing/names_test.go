package tracing_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/tracing"
	"parley/gateway/tracing/tracingtest"
	"parley/llm"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// convention is what the semantic conventions say of a span: open-telemetry/semantic-conventions-genai
// at commit 024a4f944a12, documents client-inference.md and gen-ai-agent-spans.md. They have
// no release yet; whoever follows them further changes this table first.
type convention struct {
	operation string
	kind      string
	subject   string   // the attribute that stands in the span's name, behind the operation
	required  []string // on every span of the kind
	allowed   []string // besides
}

var conventions = []convention{
	{
		operation: "chat", kind: "client", subject: "gen_ai.request.model",
		required: []string{"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.request.stream", "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"},
		allowed: []string{
			"gen_ai.response.model", "gen_ai.response.time_to_first_chunk",
			"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.reasoning.output_tokens",
		},
	},
	{
		operation: "invoke_agent", kind: "internal", subject: "gen_ai.agent.name",
		required: []string{"gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.provider.name", "gen_ai.request.model"},
	},
	{
		operation: "execute_tool", kind: "internal", subject: "gen_ai.tool.name",
		required: []string{"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type"},
		allowed:  []string{"gen_ai.tool.call.id"},
	},
}

// types are those that the conventions give the attributes.
var types = map[string]string{
	"gen_ai.request.stream": "bool", "gen_ai.response.finish_reasons": "[]string", "gen_ai.response.time_to_first_chunk": "float64",
	"gen_ai.usage.input_tokens": "int64", "gen_ai.usage.output_tokens": "int64", "gen_ai.usage.cache_read.input_tokens": "int64",
	"gen_ai.usage.cache_write.input_tokens": "int64", "gen_ai.usage.reasoning.output_tokens": "int64",
}

// wantConventional holds a span to the conventions. Of ours the attributes begin with parley.
func wantConventional(t *testing.T, s tracingtest.Span) {
	t.Helper()
	operation, _, _ := strings.Cut(s.Name, " ")
	i := slices.IndexFunc(conventions, func(c convention) bool { return c.operation == operation })
	if i < 0 {
		t.Errorf("%s: the conventions have no such span", s.Name)
		return
	}
	c := conventions[i]
	if s.Kind != c.kind || s.Name != fmt.Sprintf("%s %v", c.operation, s.Attributes[c.subject]) || s.Attributes["gen_ai.operation.name"] != c.operation {
		t.Errorf("%s: %s, %v", s.Name, s.Kind, s.Attributes)
	}
	for _, key := range c.required {
		if s.Attributes[key] == nil {
			t.Errorf("%s has no %s", s.Name, key)
		}
	}
	for key, v := range s.Attributes {
		want := types[key]
		if want == "" {
			want = "string"
		}
		switch {
		case strings.HasPrefix(key, "parley."):
		case key == "error.type":
			if !s.Failed {
				t.Errorf("%s has an error and did not fail", s.Name)
			}
		case !slices.Contains(slices.Concat(c.required, c.allowed), key):
			t.Errorf("%s: %s is none of the conventions for it", s.Name, key)
		case fmt.Sprintf("%T", v) != want:
			t.Errorf("%s: %s is a %T, want %s", s.Name, key, v, want)
		}
	}
	if s.Failed && (s.Attributes["error.type"] == nil || s.Message != "") {
		t.Errorf("%s failed as %v, %q: want an error.type alone", s.Name, s.Attributes["error.type"], s.Message)
	}
}

// aTurn has a tracer see a turn with everything that there is.
func aTurn(t *testing.T, r *rig) {
	t.Helper()
	key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "1", Kind: sessionkeys.DM, Peer: "7"})
	if err != nil {
		t.Fatal(err)
	}
	took := func(d time.Duration) time.Time { time.Sleep(d); return time.Now() }
	turn := sessions.Turn{ID: turnID, Session: "S", Token: "T", Attempts: 2, Channel: "tg", From: sessionkeys.Address{Kind: sessionkeys.DM}}
	u := r.Begin(tracing.Take{Turn: turn, Agent: "main", Provider: "work", Model: "large", With: []uint64{8}})
	call := func(purpose costs.Purpose, finish transcript.FinishReason, fails *llm.Error) *agent.CallReport {
		began := time.Now()
		took(time.Second)
		return &agent.CallReport{
			Entry: costs.Entry{
				Call: costs.CallID{Turn: turnID, Step: 1, Attempt: 1, Purpose: purpose}, Labels: costs.Labels{Provider: "work", Model: "large", Purpose: purpose},
				Usage:  costs.Usage{Input: 1, CacheRead: 20, CacheWrite5m: 300, CacheWrite1h: 4000, Output: 50, Reasoning: 6, Source: costs.Reported},
				Amount: costs.USD / 4, Priced: true,
			},
			Began: began, Took: time.Second, FirstToken: 500 * time.Millisecond, Answered: "large-2026\xff", Finish: finish, Err: fails,
		}
	}
	own, child := agent.Event{Turn: turnID, Key: key, Session: "S"}, agent.Event{Turn: "child", Parent: turnID, Key: key, Session: "C"}
	see := func(e agent.Event, with agent.Event) {
		with.Turn, with.Parent, with.Key, with.Session, with.At = e.Turn, e.Parent, e.Key, e.Session, time.Now()
		u.Observe(with)
	}
	see(own, agent.Event{Type: agent.TextDelta, Text: "secret words"})
	see(own, agent.Event{Type: agent.ModelCalled, Call: call(costs.RootTurn, transcript.ToolUse, nil)})
	see(own, agent.Event{Type: agent.ToolCalled, CallID: "c1", Tool: "sessions_spawn", Args: "secret arguments", Of: "secret"})
	began := time.Now()
	see(child, agent.Event{Type: agent.SubagentSpawned, CallID: "c1", Text: "secret name"})
	see(child, agent.Event{Type: agent.ToolCalled, CallID: "c1", Tool: "secret tool of a model"}) // the same id, in another turn
	see(child, agent.Event{Type: agent.ToolResulted, CallID: "c1", Tool: "secret tool of a model", Status: agent.StatusError})
	see(child, agent.Event{Type: agent.ModelCalled, Call: call(costs.Subagent, "", &llm.Error{Kind: llm.Overloaded, Message: "secret message"})})
	see(child, agent.Event{Type: agent.SubagentEnded, CallID: "c1", Status: "budget"})
	see(own, agent.Event{Type: agent.ToolResulted, CallID: "c1", Tool: "sessions_spawn", Status: agent.StatusOK, Began: began, Took: time.Second})
	see(own, agent.Event{Type: agent.ModelCalled, Call: call(costs.RootTurn, "", &llm.Error{Kind: llm.Canceled})})
	see(own, agent.Event{Type: agent.ToolCalled, CallID: strings.Repeat("secret", 100), Tool: "glob"})
	see(own, agent.Event{Type: agent.ToolResulted, CallID: strings.Repeat("secret", 100), Tool: "glob", Status: agent.StatusDenied})
	u.End(agent.Outcome{Finish: transcript.EndTurn, Steps: 2, Text: "secret answer"}, costs.USD/2, nil)
	r.Titled(turnID, *call(costs.Title, transcript.EndTurn, nil))
}

func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := run(t, s)
		aTurn(t, r)
		r.stop()
		spans := s.Spans()
		for _, s := range spans {
			wantConventional(t, s)
			if strings.Contains(fmt.Sprint(s), "secret") {
				t.Errorf("%s holds what was said: %v", s.Name, s)
			}
		}
		const want = `chat large (client) parley.purpose=title
invoke_agent main (internal) parley.outcome=end_turn
  chat large (client) parley.purpose=root
  execute_tool sessions_spawn (internal) parley.outcome=ok
    invoke_agent main (internal) failed error.type=budget parley.outcome=budget
      chat large (client) failed error.type=overloaded parley.purpose=subagent
      execute_tool _OTHER (internal) failed error.type=error parley.outcome=error
  chat large (client) parley.purpose=root
  execute_tool glob (internal) failed error.type=denied parley.outcome=denied
`
		got := tracingtest.Tree(withoutOutcomes(spans), "error.type", "parley.purpose", "parley.outcome")
		if sortedLines(got) != sortedLines(want) {
			t.Errorf("the trace is\n%s, not\n%s", got, want)
		}
		for _, s := range spans {
			if s.Name == "chat large" && (s.Attributes["gen_ai.usage.input_tokens"] != int64(4321) || s.Attributes["gen_ai.usage.output_tokens"] != int64(50) ||
				s.Attributes["gen_ai.usage.cache_write.input_tokens"] != int64(4300) || s.Attributes["parley.cost.pico_usd"] != int64(costs.USD/4) || s.Attributes["parley.cost.usd"] != 0.25 || s.Attributes["gen_ai.response.model"] != "large-2026\uFFFD") {
				t.Errorf("the figures of a call are %v", s.Attributes)
			}
			if took := s.Ended.Sub(s.Began); s.Name == "chat large" && took != time.Second || s.Name == "execute_tool sessions_spawn" && took != time.Second {
				t.Errorf("%s took %s", s.Name, took)
			}
		}
	})
}

// withoutOutcomes leaves the outcome of calls of models away.
func withoutOutcomes(spans []tracingtest.Span) []tracingtest.Span {
	spans = slices.Clone(spans)
	for i, s := range spans {
		if s.Kind == "client" {
			spans[i].Attributes = maps.Clone(s.Attributes)
			delete(spans[i].Attributes, "parley.outcome")
		}
	}
	return spans
}

func sortedLines(s string) string {
	return strings.Join(slices.Sorted(strings.Lines(s)), "")
}

// docs/tracing.md lists every attribute of ours, and its table of metrics names none that is not
// in docs/metrics.md.
func TestTracesAreDocumented(t *testing.T) {
	t.Parallel()
	text := read(t, "../../docs/tracing.md")
	code := read(t, "names.go")
	own := regexp.MustCompile(`"(parley\.[a-z_.]+)"`)
	for _, m := range own.FindAllStringSubmatch(code, -1) {
		if !strings.Contains(text, "`"+m[1]+"`") {
			t.Errorf("docs/tracing.md does not say what %s is", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(parley\\.[a-z_.]+)`").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(code, `"`+m[1]+`"`) {
			t.Errorf("docs/tracing.md has %s, which no span has", m[1])
		}
	}
	metrics := read(t, "../../docs/metrics.md")
	mapped := regexp.MustCompile("(?m)^\\| `parley_([a-z_]+)`").FindAllStringSubmatch(text, -1)
	if len(mapped) < 8 {
		t.Errorf("docs/tracing.md maps %d metrics", len(mapped))
	}
	for _, m := range mapped {
		if !strings.Contains(metrics, "\n| "+m[1]+" |") {
			t.Errorf("docs/tracing.md maps parley_%s, which is no metric", m[1])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
