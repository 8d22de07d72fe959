package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Keeper has the tasks of a server. Its methods are called concurrently.
type Keeper interface {
	// Task returns how a task is, or ErrUnknown.
	Task(ctx context.Context, id string) (*Task, error)
	// Answer takes what a task needs to go on, or returns ErrUnknown. What it does not wait for is
	// passed over.
	Answer(ctx context.Context, id string, answers sdk.InputResponseMap) error
	// Cancel is told that a task is not wanted any more, or returns ErrUnknown.
	Cancel(ctx context.Context, id string) error
}

// ErrUnknown means that there is no task of an id, or not any more.
var ErrUnknown = errors.New("no task has this id")

// beginning is the key in a context under which a *Task stands that a tool may fill in.
type beginning struct{}

// Begin has a call answered with a task, which the Keeper has by then, where that is [Possible]. What
// the tool returns is then not looked at.
func Begin(ctx context.Context, t Task) {
	if begun, ok := ctx.Value(beginning{}).(*Task); ok {
		*begun = t
	}
}

// Possible reports whether the call of ctx can be answered with a task.
func Possible(ctx context.Context) bool {
	_, ok := ctx.Value(beginning{}).(*Task)
	return ok
}

// Serve gives a server tasks. Its capabilities have to name the [Extension]. It is to be called before
// the server serves.
func Serve(s *sdk.Server, k Keeper) error {
	s.AddReceivingMiddleware(answerWithTasks)
	return errors.Join(
		sdk.AddReceivingCustomMethod(s, methodGet, func(ctx context.Context, _ *sdk.ServerSession, p *params) (*Task, error) {
			t, err := k.Task(ctx, p.ID)
			if err != nil {
				return nil, worded(err)
			}
			t.Kind = kindComplete
			return t, nil
		}),
		sdk.AddReceivingCustomMethod(s, methodUpdate, func(ctx context.Context, _ *sdk.ServerSession, p *params) (*receipt, error) {
			return &receipt{Kind: kindComplete}, worded(k.Answer(ctx, p.ID, p.Answers))
		}),
		sdk.AddReceivingCustomMethod(s, methodCancel, func(ctx context.Context, _ *sdk.ServerSession, p *params) (*receipt, error) {
			return &receipt{Kind: kindComplete}, worded(k.Cancel(ctx, p.ID))
		}),
	)
}

// worded returns an error as the protocol wants it.
func worded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnknown):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ErrUnknown.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// knows reports whether whoever sends a request knows tasks, as the request itself says.
func knows(r sdk.Request) bool {
	var capabilities struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	text, err := json.Marshal(r.GetParams().GetMeta()[sdk.MetaKeyClientCapabilities])
	if err != nil || json.Unmarshal(text, &capabilities) != nil {
		return false
	}
	_, ok := capabilities.Extensions[Extension]
	return ok
}

// answerWithTasks has calls answered with the tasks that their tools begin, and nobody ask for tasks
// who does not know them.
func answerWithTasks(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		switch method {
		case methodGet, methodUpdate, methodCancel:
			if !knows(r) {
				return nil, missing()
			}
		case "tools/call":
			if !knows(r) {
				break
			}
			var begun Task
			res, err := next(context.WithValue(ctx, beginning{}, &begun), method, r)
			if err != nil || begun.ID == "" {
				return res, err
			}
			begun.Kind = kindTask
			return &begun, nil
		}
		return next(ctx, method, r)
	}
}

func missing() error {
	text := fmt.Sprintf(`{"requiredCapabilities":{"extensions":{%q:{}}}}`, Extension)
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "tasks are for clients that say that they know them", Data: json.RawMessage(text)}
}
