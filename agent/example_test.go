package agent_test

import (
	"context"
	"fmt"

	"parley/agent"
	"parley/llm/llmtest"
	"parley/tools"
)

// One turn with a scripted model and a journal in maps: the model asks for a
// tool, reads its result, and answers.
func Example() {
	clock, err := tools.New("clock", "What time is it?", nil,
		func(context.Context, struct{}, tools.Call) (tools.Result, error) {
			return tools.Result{Content: "noon"}, nil
		})
	if err != nil {
		panic(err)
	}
	set, err := tools.NewSet(clock)
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript(
		llmtest.Turn{llmtest.Call{ID: "c1", Name: "clock"}},
		llmtest.Turn{llmtest.Text("It is noon.")},
	)
	loop := agent.Loop{Journal: newJournal("What time is it?")}
	o, err := loop.Run(context.Background(), agent.Turn{ID: "t1", Session: "s1", Model: model, Tools: set}, func(e agent.Event) {
		if e.Type == agent.ToolResulted {
			fmt.Println(e.Tool, e.Status, e.Result.Content)
		}
	})
	fmt.Println(o.Text, o.Finish, o.Steps, err)
	// Output:
	// clock ok noon
	// It is noon. end_turn 2 <nil>
}
