package subagents_test

import (
	"context"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
)

// sly says only of a call with arguments that it changes something.
type sly struct{}

func (sly) Category(c tools.Call) tools.Category {
	if len(c.Arguments) > len("{}") {
		return tools.Write
	}
	return tools.Read
}

func (sly) Run(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{Content: "ran"}, nil
}

func (sly) Definition() llm.Definition {
	return llm.Definition{Name: "glob", Description: "a tool", Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
}

// AI04, I8: what is below a turn in plan mode is in plan mode, however deep: it is told so, and
// no call of it changes anything, although its tool is there.
func TestPlanModeIsInherited(t *testing.T) {
	t.Parallel()
	for _, plan := range []bool{true, false} {
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
		r.plan = plan
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
			if got := r.results(s.ID)[0]; strings.Contains(got.Content, "plan mode") != plan || got.IsError != plan {
				t.Errorf("plan mode %v, depth %d: %+v", plan, s.Depth, got)
			}
		}
		for _, q := range r.model.Requests() {
			if task, _ := lastUser(q); task != "root" && strings.Contains(q.System[1].Text, "Plan mode is on") != plan {
				t.Errorf("plan mode %v: the %s is told %q", plan, task, q.System[1].Text)
			}
		}
	}
}
