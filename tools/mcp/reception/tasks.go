package reception

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp/tasks"
)

// askEvery is how often a program may want to know whether somebody has answered.
const askEvery = 5 * time.Second

// keepAnswer is how long the answer to a question can be had at least, from when it could not be
// answered any more.
const keepAnswer = 24 * time.Hour

// questions are the tasks of a Desk: each is a question. Its id is when that was asked and with which
// key, so that it means the same to the next process.
type questions struct{ desk Desk }

var _ tasks.Keeper = questions{}

func newTaskID(asked time.Time, key string) string {
	return asked.UTC().Format(time.RFC3339) + " " + key
}

func readTaskID(id string) (asked time.Time, key string, ok bool) {
	text, key, ok := strings.Cut(id, " ")
	asked, err := time.Parse(time.RFC3339, text)
	return asked, key, ok && err == nil
}

// look returns how the question of a task stands.
func (q questions) look(ctx context.Context, id string) (Standing, error) {
	_, key, ok := readTaskID(id)
	if !ok {
		return Standing{}, tasks.ErrUnknown
	}
	st, err := q.desk.Look(ctx, key, 0)
	if errors.Is(err, ErrNone) {
		err = tasks.ErrUnknown
	}
	return st, err // the Desk words it
}

// Task implements [tasks.Keeper]. As long as the Desk is away a question is as it was.
func (q questions) Task(ctx context.Context, id string) (*tasks.Task, error) {
	st, err := q.look(ctx, id)
	if errors.Is(err, ErrAway) {
		_, key, _ := readTaskID(id)
		t := taskOf(id, Standing{Key: key, State: waiting})
		t.Message = err.Error() + ". The question and its answer are kept."
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t := taskOf(id, st)
	if st.State == waiting {
		return t, nil
	}
	st.Next = next(st)
	text, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	t.Status, t.Message = tasks.Completed, ""
	t.Result, err = json.Marshal(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}, StructuredContent: st})
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return t, nil
}

// Answer implements [tasks.Keeper]. A question needs nothing of the program that asks it.
func (q questions) Answer(ctx context.Context, id string, _ sdk.InputResponseMap) error {
	return q.known(ctx, id)
}

// Cancel implements [tasks.Keeper]. The person may have read the question, and may answer it still.
func (q questions) Cancel(ctx context.Context, id string) error { return q.known(ctx, id) }

func (q questions) known(ctx context.Context, id string) error {
	if _, err := q.look(ctx, id); err != nil && !errors.Is(err, ErrAway) {
		return err
	}
	return nil
}

// taskOf returns the task of a question that waits.
func taskOf(id string, st Standing) *tasks.Task {
	asked, _, _ := readTaskID(id)
	at := asked.Format(time.RFC3339)
	t := &tasks.Task{ID: id, Status: tasks.Working, Message: "The person was asked and has not answered yet.", Created: at, Updated: at, Poll: askEvery.Milliseconds()}
	if expires, err := time.Parse(time.RFC3339, st.Expires); err == nil {
		ttl := expires.Add(keepAnswer).Sub(asked).Milliseconds()
		t.TTL = &ttl
	}
	return t
}
