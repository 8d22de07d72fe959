package reception_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp/tasks"
)

// newProgram returns a client that knows tasks, or only how to ask for them.
func newProgram(t *testing.T, declares bool) *sdk.Client {
	t.Helper()
	can := &sdk.ClientCapabilities{}
	if declares {
		can.AddExtension(tasks.Extension, nil)
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "agent"}, &sdk.ClientOptions{Capabilities: can})
	if err := tasks.Prepare(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask asks ann, and returns the task that the server answers with.
func ask(t *testing.T, s *sdk.ClientSession, more map[string]any) (*tasks.Task, *sdk.CallToolResult) {
	t.Helper()
	args := map[string]any{"key": "a key", "person": "ann", "question": "When?"}
	for k, v := range more {
		args[k] = v
	}
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask_person", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	task, err := tasks.Began(r)
	if err != nil {
		t.Fatal(err)
	}
	return task, r
}

// code is that of an error with which a server answers.
func code(err error) int64 {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

// A program that knows tasks gets a question as one at once, and the answer by it, over the end of the
// server and while parley is away.
func TestQuestionAsATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		s := connectClient(t, d, newProgram(t, true))
		began := time.Now()
		task, _ := ask(t, s, nil)
		if task == nil || task.Status != tasks.Working || task.Poll != 5000 || task.TTL == nil || *task.TTL != (25*time.Hour).Milliseconds() || task.Created != began.UTC().Format(time.RFC3339) || time.Since(began) != 0 {
			t.Fatalf("%+v after %s", task, time.Since(began))
		}
		get := func() *tasks.Task {
			t.Helper()
			got, err := tasks.Get(t.Context(), s, task.ID)
			if err != nil || got.ID != task.ID || got.Created != task.Created {
				t.Fatalf("%+v, %v", got, err)
			}
			return got
		}
		if got := get(); got.Status != tasks.Working || got.Message != "The person was asked and has not answered yet." {
			t.Errorf("%+v", got)
		}
		d.gone = true
		if got := get(); got.Status != tasks.Working || !strings.Contains(got.Message, "it was killed). The question and its answer are kept.") {
			t.Errorf("while parley is away: %+v", got)
		}
		if err := tasks.Cancel(t.Context(), s, task.ID); err != nil {
			t.Error(err)
		}
		d.gone = false
		s = connectClient(t, d, newProgram(t, true)) // of another process
		d.answer <- "now"
		got := get()
		if got.Status != tasks.Completed {
			t.Fatalf("%+v", got)
		}
		r, err := got.CallResult()
		if err != nil {
			t.Fatal(err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		if fields, ok := r.StructuredContent.(map[string]any); !ok || fields["answer"] != "now" || !strings.Contains(text, `"answer":"now"`) || r.IsError {
			t.Errorf("%q, %+v", text, r)
		}
	})
}

func TestTasksOfQuestions(t *testing.T) {
	t.Parallel()
	t.Run("a call that is told to wait does, and an answer that is there is no task", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := &desk{}
			s := connectClient(t, d, newProgram(t, true))
			began := time.Now()
			if task, _ := ask(t, s, map[string]any{"wait_seconds": 7}); task == nil || time.Since(began) != 7*time.Second {
				t.Errorf("%+v after %s", task, time.Since(began))
			}
			d.answer <- "never"
			if task, r := ask(t, s, nil); task != nil || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, `"answer":"never"`) {
				t.Errorf("%+v, %+v", task, r)
			}
		})
	})
	t.Run("what nobody has asked is unknown", func(t *testing.T) {
		t.Parallel()
		s := connectClient(t, &desk{}, newProgram(t, true))
		for _, id := range []string{"", "x", "2026-05-01T12:00:00Z other", "yesterday a key"} {
			_, err := tasks.Get(t.Context(), s, id)
			for _, err := range []error{err, tasks.Cancel(t.Context(), s, id), tasks.Answer(t.Context(), s, id, nil)} {
				if code(err) != jsonrpc.CodeInvalidParams {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
	})
	t.Run("who does not know tasks gets none", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := connectClient(t, &desk{}, newProgram(t, false))
			if task, r := ask(t, s, map[string]any{"wait_seconds": 1}); task != nil || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, `"state":"waiting"`) {
				t.Errorf("%+v, %+v", task, r)
			}
			if _, err := tasks.Get(t.Context(), s, time.Now().UTC().Format(time.RFC3339)+" a key"); code(err) != sdk.CodeMissingRequiredClientCapabilities {
				t.Error(err)
			}
		})
	})
}
