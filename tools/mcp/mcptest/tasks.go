package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp/tasks"
)

// Chores are the tasks of a server. They outlive it.
type Chores struct {
	// Poll is how often they are to be asked for, in milliseconds.
	Poll int64
	// Seen gets the id of each that is asked for, once; nil: nobody looks. It must have room.
	Seen chan<- string

	mu  sync.Mutex // guards all
	all map[string]*chore
}

// Release has all chores go on that hold.
func (c *Chores) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		if one.words[0] == "hold" {
			one.words = one.words[1:]
		}
	}
}

// chore is a task that does what its words say, one with each time that it is asked for:
//
//	work      it works, as with every other word
//	hold      it works until Release is called
//	ask       it asks for a name, and works until it is told
//	ask2      it asks for a name and a day
//	late      it was told, and has not looked at it yet
//	done      it returns the name, or its words
//	fail      it fails with an error of the protocol
//	isError   it returns an error of the tool
//	cancelled it has given up
//	odd       it is in a state that nobody knows
//	broken    the server cannot say
//	forget    the server does not know it
//
// The last of them is repeated.
type chore struct {
	words []string
	asked int
	name  string
}

// NewChores returns none.
func NewChores() *Chores { return &Chores{Poll: 1000, all: map[string]*chore{}} }

// NewWithTasks makes a server with the tools of New, and work, which does its text as a task where the
// client knows tasks.
func NewWithTasks(w World, c *Chores) (*sdk.Server, error) {
	capabilities := &sdk.ServerCapabilities{}
	capabilities.AddExtension(tasks.Extension, nil)
	s := newServer(w, &sdk.ServerOptions{Capabilities: capabilities})
	sdk.AddTool(s, &sdk.Tool{Name: "work", Description: "Do what the words say, one after the other."}, say(func(ctx context.Context, in string) (string, error) {
		if err := w.Note("began " + in); err != nil || !tasks.Possible(ctx) {
			return "done at once", err
		}
		tasks.Begin(ctx, *c.begin(in))
		return "", nil
	}))
	return s, tasks.Serve(s, keeper{c, w})
}

func (c *Chores) begin(words string) *tasks.Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := strconv.Itoa(len(c.all) + 1)
	c.all[id] = &chore{words: strings.Fields(words)}
	return c.task(id)
}

func (c *Chores) task(id string) *tasks.Task {
	at, ttl := time.Unix(1_700_000_000, 0).UTC().Format(time.RFC3339), int64(time.Hour/time.Millisecond)
	return &tasks.Task{ID: id, Status: tasks.Working, Message: "at it", Created: at, Updated: at, TTL: &ttl, Poll: c.Poll}
}

// keeper are chores of a server.
type keeper struct {
	*Chores

	w World
}

// Task implements [tasks.Keeper].
func (k keeper) Task(_ context.Context, id string) (*tasks.Task, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.all[id]
	if !ok {
		return nil, tasks.ErrUnknown
	}
	if c.asked++; c.asked == 1 && k.Seen != nil {
		k.Seen <- id
	}
	word := c.words[0]
	if len(c.words) > 1 && !slices.Contains([]string{"ask", "ask2", "hold"}, word) {
		c.words = c.words[1:]
	}
	t := k.task(id)
	switch word {
	case "ask", "ask2", "late":
		t.Status = tasks.InputRequired
		schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}}
		if word == "ask2" {
			schema["properties"].(map[string]any)["day"] = map[string]any{"type": "string"}
			schema["required"] = []string{"name", "day"}
		}
		t.Inputs = sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "Who is it for?", RequestedSchema: schema}}
	case "done", "isError":
		t.Status = tasks.Completed
		text := fmt.Sprintf("done for %q, asked for %d times", c.name, c.asked)
		var err error
		t.Result, err = json.Marshal(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: word == "isError"})
		return t, err
	case "fail":
		t.Status, t.Error = tasks.Failed, &tasks.Fault{Code: -32603, Message: "too much to do"}
	case "cancelled":
		t.Status = tasks.Cancelled
	case "odd":
		t.Status = "pondering"
	case "broken":
		return nil, errors.New("no disk")
	case "forget":
		return nil, tasks.ErrUnknown
	}
	return t, nil
}

// Answer implements [tasks.Keeper].
func (k keeper) Answer(_ context.Context, id string, answers sdk.InputResponseMap) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.all[id]
	if !ok {
		return tasks.ErrUnknown
	}
	if said, ok := answers["name"].(*sdk.ElicitResult); ok && strings.HasPrefix(c.words[0], "ask") {
		c.name, c.words = fmt.Sprint(said.Content["name"]), c.words[1:]
		if day, ok := said.Content["day"]; ok {
			c.name += fmt.Sprint(" on ", day)
		}
	}
	return k.w.Note("answered " + c.name)
}

// Cancel implements [tasks.Keeper].
func (k keeper) Cancel(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[id] == nil {
		return tasks.ErrUnknown
	}
	return k.w.Note("cancelled " + id)
}
