package subagents_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/agent"
	"parley/llm"
	"parley/llm/llmtest"
)

// TX32, 2.4: what happens in a sub-agent's turn comes between its beginning and its end, in
// the order of any turn, numbered from 1, and says whose it is.
func TestTheEventsOfAChildSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	child := func(_ string, answered bool, _ llm.Request) llmtest.Turn {
		if !answered {
			return llmtest.Turn{llmtest.Thinking("hm"), llmtest.Text("let me see"), llmtest.Call{ID: "x", Name: "read_file", Input: `{}`}}
		}
		return llmtest.Turn{llmtest.Text("found it")}
	}
	r := newRig(t, parent([]llmtest.Call{{ID: "c1", Name: "sessions_spawn", Input: `{"task":"look","label":"the files"}`}}, child))
	r.ask("root")
	var got []string
	root := r.turn.ID
	for i, e := range r.events {
		if e.Seq != uint64(i+1) || e.Root != root || e.Parent != root || e.Depth != 1 || e.Session != r.tree()[1].ID || e.Turn == root || e.Key.Agent() != "main" || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
		switch e.Type {
		case agent.TextDelta, agent.ReasoningDelta, agent.ModelCalled:
		case agent.SubagentSpawned:
			got = append(got, fmt.Sprint(e.Type, " ", e.CallID, " ", e.Text))
		default:
			got = append(got, fmt.Sprint(e.Type, " ", e.Status))
		}
	}
	want := []string{
		"subagent_spawned c1 the files", "reasoning ", "text ",
		"step_start ", "tool_call ", "tool_result ok", "step_complete ok",
		"final ", "subagent_ended ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
