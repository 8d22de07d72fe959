package subagents_test

import (
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/subagents"
	"parley/tools"
)

// I05: what is below a turn with a gate of its own, as a scheduled job has one, has that gate and
// no other, however deep.
func TestTheGateOfATurnIsInherited(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		r := newRig(t, func(q llm.Request) llmtest.Turn {
			task, answered := lastUser(q)
			switch {
			case answered:
				return text("ok")
			case task == "root":
				return llmtest.Turn{spawnCall("s", "middle")}
			case task == "middle":
				return llmtest.Turn{llmtest.Call{ID: "g", Name: "glob", Input: `{"text":"x"}`}, spawnCall("s", "leaf")}
			}
			return llmtest.Turn{llmtest.Call{ID: "g", Name: "glob", Input: `{"text":"x"}`}}
		})
		if r.turnGate = tools.JobGate([]string{subagents.SpawnName}, false); listed {
			r.turnGate = tools.JobGate([]string{subagents.SpawnName, "glob"}, false)
		}
		with, err := r.tools("read_file").With(sly{})
		if err != nil {
			t.Fatal(err)
		}
		r.set = with
		r.ask("root")
		tree := r.tree()
		if len(tree) != 3 {
			t.Fatalf("%d sessions", len(tree))
		}
		for _, s := range tree[1:] {
			if got := r.results(s.ID)[0]; got.IsError == listed || strings.Contains(got.Content, "scheduled job") == listed {
				t.Errorf("listed %v, depth %d: %+v", listed, s.Depth, got)
			}
		}
	}
}
