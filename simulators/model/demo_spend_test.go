package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/simulators/model"
)

// A sub-agent with a cap of its own spends until something stops it: each step calls again, and
// the last words of a turn whose money is used up are words.
func TestTheDemonstrationSpendsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	demo := model.Demo(0)
	p := later("spend my money")
	p.Tools = append(p.Tools, model.Tool{Name: "sessions_spawn"})
	var in struct {
		Task string
		Cap  string `json:"max_cost_usd"`
	}
	a := demo(t.Context(), p)
	call := a.Blocks[len(a.Blocks)-1]
	if call.Name != "sessions_spawn" || json.Unmarshal([]byte(call.Input), &in) != nil || in.Cap == "" {
		t.Fatalf("%+v", a.Blocks)
	}
	p = later(in.Task)
	for range 3 {
		a = demo(t.Context(), p)
		call = a.Blocks[len(a.Blocks)-1]
		if call.Kind != model.CallBlock || call.Name != "list_directory" {
			t.Fatalf("%+v", a.Blocks)
		}
		p.Messages = append(p.Messages, model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "c", Name: call.Name}}},
			model.Message{Role: model.User, Results: []model.Result{{CallID: "c", Name: call.Name, Text: "a.txt"}}})
	}
	p.Messages = append(p.Messages, model.Message{Role: model.User, Text: "The budget of this request is used up. Do not call any more tools."})
	if a := demo(t.Context(), p); len(a.Blocks) != 1 || a.Blocks[0].Text != "I would have gone on for ever, but my money is used up." {
		t.Errorf("%+v", a.Blocks)
	}
	if a := demo(t.Context(), later("spend my money")); !strings.Contains(a.Blocks[0].Text, "nobody gave me a tool") {
		t.Errorf("%+v", a.Blocks)
	}
}
