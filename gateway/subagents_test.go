package gateway_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// spawning asks for a child for each task when a person says "ask: a, b", and
// says back what they found. A child waits until all are there, and answers.
func spawning(together func(context.Context)) model.Brain {
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		text := p.LastText()
		if _, isChild := strings.CutPrefix(text, "find "); isChild {
			together(ctx)
			return model.Reply(model.Say("found " + strings.TrimPrefix(text, "find ")))
		}
		if rs := p.Answering(); len(rs) > 0 {
			var words []string
			for _, r := range rs {
				head, said, _ := strings.Cut(r.Text, "\n")
				var figures struct{ Status string }
				_ = json.Unmarshal([]byte(head), &figures)
				words = append(words, figures.Status+": "+strings.Split(said, "\n")[1])
			}
			return model.Reply(model.Say(strings.Join(words, "; ")))
		}
		var calls []model.Block
		for task := range strings.SplitSeq(strings.TrimPrefix(text, "ask: "), ", ") {
			calls = append(calls, model.Use("sessions_spawn", map[string]string{"task": "find " + task}))
		}
		return model.Reply(calls...)
	}
}

// barrier lets nobody on until n have come.
func barrier(n int32) func(context.Context) {
	var come atomic.Int32
	all := make(chan struct{})
	return func(ctx context.Context) {
		if come.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
		}
	}
}

// U01-U04: a question for which the model starts two children, which are at work
// at the same time.
func TestAQuestionIsHandedToTwoSubAgentsAtOnce(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: spawning(barrier(2))})
	gw := env.Start()
	if got := gw.Ask(gatewaytest.Ann, "ask: eggs, flour"); got != "ok: found eggs; ok: found flour" {
		t.Errorf("Ann was told %q", got)
	}
	if sent := env.SentTexts(telegram.PrivateChat(gatewaytest.Ann)); len(sent) != 1 {
		t.Errorf("what a child says was shown: %q", sent)
	}
	if got := gw.Ask(gatewaytest.Ann, "/cost"); !strings.Contains(got, "$0.00") {
		t.Errorf("/cost says %q", got)
	}
	gw.AwaitMetrics(
		`parley_subagent_spawns_total{depth="1"} 2`,
		`parley_subagents_active{depth="1"} 0`,
		`parley_tool_calls_total{agent_kind="root",outcome="ok",tool="sessions_spawn"} 2`,
		`parley_llm_requests_total{agent_kind="subagent",model="demo",outcome="ok",provider="sim"} 2`,
		`parley_turns_total{channel="tg",chat="dm",outcome="ok"} 1`,
	)
}

// TX14, U05: a child is shown a few tools that read, and a short prompt of its
// own.
// (requirements F06)
func TestAChildSeesALittleOfWhatItsParentSees(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: spawning(func(context.Context) {})})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "ask: eggs")
	rs := env.Model.Requests()
	if len(rs) != 3 {
		t.Fatalf("%d requests", len(rs))
	}
	var parent, child struct {
		System []struct{ Text string }
		Tools  []struct{ Name string }
	}
	for i, into := range []any{&parent, &child} {
		noError(t, json.Unmarshal(rs[i].Body, into))
	}
	var names []string
	for _, tool := range child.Tools {
		names = append(names, tool.Name)
	}
	want := []string{"read_file", "list_directory", "glob", "grep", "view", "sessions_list", "sessions_history", "read_output", "sessions_spawn"}
	if !slices.Equal(names, want) || len(parent.Tools) <= len(names) {
		t.Errorf("the child has %v", names)
	}
	if !strings.HasPrefix(child.System[0].Text, "You are a sub-agent.") || strings.Contains(parent.System[0].Text, "sub-agent.") {
		t.Errorf("prompts %q, %q", parent.System[0].Text, child.System[0].Text)
	}
}
