package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// Whatever a call asks, retried or the last of a turn, can be made again from
// what was kept of it and the history.
// (requirements B12, B20)
func TestWhatWasKeptOfACallMakesItsRequestAgain(t *testing.T) {
	t.Parallel()
	again := calls(llmtest.Call{ID: "c", Name: "echo", Input: `{"text":"a"}`}, llmtest.Call{ID: "d", Name: "none"})
	r := newRig(t, setOf(t, tool(t, "echo", tools.Read, echo)), again, llmtest.Turn{llmtest.Fail{Kind: llm.Overloaded}}, again, text("as far as I got"))
	r.turn.MaxSteps = 2
	r.loop.Retry = llm.Retry{}
	r.turn.System = []llm.SystemBlock{{Text: "be kind", Cache: true}}
	r.run(t, t.Context())
	sent := r.model.Requests()
	if len(sent) != len(r.journal.asked) || len(sent) != 4 {
		t.Fatalf("%d requests were sent, %d kept", len(sent), len(r.journal.asked))
	}
	for _, q := range sent {
		if !slices.Equal(q.System, r.turn.System) {
			t.Errorf("a request has the system message %+v", q.System)
		}
	}
	for _, m := range r.journal.messages {
		if m.Role == transcript.System {
			t.Errorf("a system message is stored: %+v", m)
		}
	}
	for i, a := range r.journal.asked {
		t.Run(fmt.Sprint("request ", i+1), func(t *testing.T) {
			t.Parallel()
			body, err := a.Body()
			if err != nil {
				t.Fatal(err)
			}
			var f llm.RequestTemplate
			if err := json.Unmarshal(body, &f); err != nil {
				t.Fatal(err)
			}
			ms := agent.RequestMessages(append(r.journal.messages[:a.Upto:a.Upto], a.Tail...))
			if d := cmp.Diff(sent[i], f.Request(ms, a.MaxTokens, sent[i].CacheKey)); d != "" {
				t.Errorf("the request (-sent +made again):\n%s", d)
			}
			if f.Name() != a.Template || llm.Digest(a.Template, sent[i].Messages) != a.Digest {
				t.Error("the names of the frame or of the request differ")
			}
		})
	}
	if a := r.journal.asked; len(a[3].Tail) != 1 || len(a[2].Tail) != 0 || a[1].Digest != a[2].Digest || a[3].Template == a[2].Template {
		t.Errorf("asked: %+v", a)
	}
}
