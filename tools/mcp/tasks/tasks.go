// Package tasks is the extension of MCP by which a server answers a call with a task, which is asked
// for until it is done: io.modelcontextprotocol/tasks, as specification 2026-07-28/tasks.md of
// modelcontextprotocol/ext-tasks has it. The protocol's library does not know it.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Extension is the name by which clients and servers say that they know tasks.
const Extension = "io.modelcontextprotocol/tasks"

// Methods of the extension.
const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// Status describes how far a task is.
type Status string

// States of a task. The last three are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Kinds of results.
const (
	kindTask     = "task"
	kindComplete = "complete"
)

// Task is what a server says of one.
type Task struct {
	sdk.ResultBase

	Kind    string `json:"resultType"` // set by Server
	ID      string `json:"taskId"`
	Status  Status `json:"status"`
	Message string `json:"statusMessage,omitempty"` // for people and models
	Created string `json:"createdAt"`               // RFC 3339
	Updated string `json:"lastUpdatedAt"`           // RFC 3339
	TTL     *int64 `json:"ttlMs"`                   // milliseconds from Created until it may be forgotten; nil: never
	Poll    int64  `json:"pollIntervalMs,omitempty"`
	// Inputs is what has to be answered before it goes on, with InputRequired.
	Inputs sdk.InputRequestMap `json:"inputRequests,omitempty"`
	// Result is what the call would have returned, with Completed.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is that of the call, with Failed.
	Error *Fault `json:"error,omitempty"`
}

// Fault is the error of a task that has failed.
type Fault struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// params names a task.
type params struct {
	sdk.ParamsBase

	ID      string               `json:"taskId"`
	Answers sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// receipt is the answer to tasks/update and tasks/cancel.
type receipt struct {
	sdk.ResultBase

	Kind string `json:"resultType"`
}

// maxID is how many bytes the id of a task may have.
const maxID = 1024

// ErrUnfit means that what a server says of a task is no task.
var ErrUnfit = errors.New("the server answers with a task that is none")

func (t *Task) check() error {
	if t.ID == "" || len(t.ID) > maxID {
		return fmt.Errorf("%w: its id has %d bytes, 1 to %d are allowed", ErrUnfit, len(t.ID), maxID)
	}
	return nil
}

// Prepare makes a client able to ask for tasks. It is to be called before the client connects.
func Prepare(c *sdk.Client) error {
	return errors.Join(
		sdk.AddSendingCustomMethod[*params, *Task](c, methodGet),
		sdk.AddSendingCustomMethod[*params, *receipt](c, methodUpdate),
		sdk.AddSendingCustomMethod[*params, *receipt](c, methodCancel),
	)
}

// Get asks how a task is.
func Get(ctx context.Context, s *sdk.ClientSession, id string) (*Task, error) {
	t, err := sdk.CallCustomMethod[*params, *Task](named(ctx, id), s, methodGet, &params{ID: id})
	if err != nil {
		return nil, err // the caller words it
	}
	return t, nil
}

// Answer gives a task what it needs to go on. An answer to what was answered is passed over by the
// server.
func Answer(ctx context.Context, s *sdk.ClientSession, id string, answers sdk.InputResponseMap) error {
	_, err := sdk.CallCustomMethod[*params, *receipt](named(ctx, id), s, methodUpdate, &params{ID: id, Answers: answers})
	return err // the caller words it
}

// Cancel says that a task is not wanted any more. The server may do it all the same.
func Cancel(ctx context.Context, s *sdk.ClientSession, id string) error {
	_, err := sdk.CallCustomMethod[*params, *receipt](named(ctx, id), s, methodCancel, &params{ID: id})
	return err // the caller words it
}

// Began returns the task with which a server has answered a call, of a session whose transport
// keeps them: see [Keep]. It is nil where res is no task.
func Began(res *sdk.CallToolResult) (*Task, error) {
	kept, ok := res.Meta[metaTask]
	if !ok {
		return nil, nil // as documented
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	t := &Task{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return t, t.check()
}

// CallResult returns what the call would have returned, of a task that is completed.
func (t *Task) CallResult() (*sdk.CallToolResult, error) {
	r := &sdk.CallToolResult{}
	if err := json.Unmarshal(t.Result, r); err != nil {
		return nil, fmt.Errorf("%w: its result: %w", ErrUnfit, err)
	}
	return r, nil
}

// metaTask is where in a result's _meta the task stands that it is. No server can put it there.
const metaTask = "parley/task"

// Keep returns the result of a call so that a task in it is found by [Began]: the library drops all
// that it does not know of a result, but its _meta. Any other result is returned as it is.
func Keep(result json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(result, &all) != nil {
		return result // the library says what it is
	}
	var kind string
	var meta map[string]json.RawMessage
	_ = json.Unmarshal(all["resultType"], &kind) // no string is no kind
	_ = json.Unmarshal(all["_meta"], &meta)      // as above
	_, forged := meta[metaTask]
	if kind != kindTask && !forged {
		return result
	}
	kept := maps.Clone(meta)
	if kept == nil {
		kept = map[string]json.RawMessage{}
	}
	delete(kept, metaTask)
	if kind == kindTask {
		kept[metaTask] = result
		all = map[string]json.RawMessage{"resultType": all["resultType"], "content": json.RawMessage("[]")}
	}
	text, err := json.Marshal(kept)
	if err == nil {
		all["_meta"] = text
		text, err = json.Marshal(all)
	}
	if err != nil {
		return result // what was decoded can be encoded
	}
	return text
}

// Conn keeps the tasks in what is read from a connection.
func Conn(c sdk.Connection) sdk.Connection { return conn{c} }

type conn struct{ sdk.Connection }

// Read implements [sdk.Connection].
func (c conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Response); ok && err == nil && r.Error == nil {
		r.Result = Keep(r.Result)
	}
	return m, err // as it is
}
