package agent_test

import (
	"context"
	"testing"

	"parley/llm/llmtest"
	"parley/tools"
	"parley/tools/shell"
	"parley/tools/shell/policy"
)

// oneRunner counts what it is given to run.
type oneRunner struct{ ran []string }

func (*oneRunner) Inside(workspace string) string { return workspace }

func (r *oneRunner) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	r.ran = append(r.ran, c.Args[len(c.Args)-1])
	return shell.Result{}, nil
}

// requirements J03, TS13 (S6.5), TX12: what the policy denies is an error that the model
// reads, and the other calls of the answer run.
func TestADeniedCommandIsAnAnswerForTheModel(t *testing.T) {
	t.Parallel()
	p, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	runner := &oneRunner{}
	bash, err := shell.New(shell.Options{Runner: runner, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, setOf(t, bash), calls(
		llmtest.Call{ID: "c1", Name: "bash", Input: `{"command":"rm -rf /"}`},
		llmtest.Call{ID: "c2", Name: "bash", Input: `{"command":"ls   -l"}`},
		llmtest.Call{ID: "c3", Name: "bash", Input: `{"command":"frobnicate"}`},
	), text("ok"))
	r.turn.Workspace, r.loop.Gate = "/ws", tools.InteractiveGate(nil)
	r.run(t, t.Context())
	for i, want := range []string{
		"Error: not run: rm is always denied: use delete_file (in: rm -rf /)",
		"exit code: 0\nstdout:\n",
		"Error: Permission denied: bash needs a person's approval, and there is nobody to ask: frobnicate is not a command that the policy knows (in: frobnicate)",
	} {
		if got := r.journal.results()[i]; got.Content != want {
			t.Errorf("result %d: %q, want %q", i+1, got.Content, want)
		}
	}
	if len(runner.ran) != 1 || runner.ran[0] != "ls -l" {
		t.Errorf("ran %q", runner.ran)
	}
}
