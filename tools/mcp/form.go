package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
)

// People asks people what servers want to know before they do a call. Its methods are called
// concurrently.
type People interface {
	// Ask has whoever speaks in the conversation of a call asked, in their chat. The question is
	// durable when it returns nil. ErrNobody: there is nobody to ask.
	Ask(ctx context.Context, c tools.Call, q Question) error
	// TakeUp returns what became of a question about the same call: the same tool of the server, with
	// the same arguments, in the same session. An answer is c's from then on: no other call gets it.
	TakeUp(ctx context.Context, c tools.Call, server, tool string) (Reply, error)
	// Settle says what c made of an answer that it has taken up. One that was not used is returned to
	// the next call, as long as it could have been given.
	Settle(ctx context.Context, c tools.Call, server, tool string, used bool) error
}

// ErrNobody means that a question of a server is asked of nobody, or not in this way.
var ErrNobody = errors.New("nobody can be asked")

// Question is what a server asks a person.
type Question struct {
	Server, Tool string // Tool as the server calls it
	Text         string
	Choices      []string // none: the person answers in words
	Memo         []byte   // JSON, which comes back with the Reply
}

// Reply is what became of a Question.
type Reply struct {
	State  ReplyState
	Answer string
	Memo   []byte
}

// ReplyState describes how far a question of a server is.
type ReplyState int

// States of a question.
const (
	Unasked   ReplyState    = iota // nothing was asked, or the answer was taken up
	Awaited                        // nobody has answered yet
	Given                          // Answer and Memo are there
	TimedOut                       // nobody has answered in time
	noAnswer  = "no answer"        // by which a person declines to say anything
	agree     = "yes"
	disagree  = "no"
	maxChoice = 7 // choices of a server, beside noAnswer
	maxAsked  = 5 // values that a person is asked for, one after the other
)

// form is what a server wants of a person, as parley asks it: one value after the other.
type form struct {
	Request string         `json:"request"`         // the server's id of it
	State   string         `json:"state,omitempty"` // which goes back to the server as it came
	Message string         `json:"message,omitempty"`
	Open    []field        `json:"open,omitempty"`   // what the person gives, first what they are asked for now; none: whether they agree
	Of      int            `json:"of,omitempty"`     // how many values that were at first
	Preset  map[string]any `json:"preset,omitempty"` // all other values
	Said    []string       `json:"said,omitempty"`   // which of them the person has given; the others are the server's
	Task    string         `json:"task,omitempty"`   // that waits for it; empty: the call itself does
}

// field is a value that a person gives.
type field struct {
	Name    string   `json:"name"`
	Type    string   `json:"type,omitempty"`
	About   string   `json:"about,omitempty"`
	Choices []string `json:"choices,omitempty"`
}

// property is a value that a server wants.
type property struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Default     any      `json:"default"`
	Enum        []string `json:"enum"`
	OneOf       []struct {
		Const string `json:"const"`
	} `json:"oneOf"`
}

// options are the values that p may have; none: any.
func (p property) options() (all []string) {
	if p.Type == "boolean" {
		return []string{agree, disagree}
	}
	all = slices.Clone(p.Enum)
	for _, o := range p.OneOf {
		all = append(all, o.Const)
	}
	return all
}

// readForm returns what a server asks a person. ErrNobody means that it asks what cannot be asked in a
// chat: several forms at once, lists, a page to be opened, a model.
func readForm(asked sdk.InputRequestMap) (f form, err error) {
	if len(asked) != 1 {
		return f, ErrNobody
	}
	var p *sdk.ElicitParams
	for id, one := range asked {
		elicit, ok := one.(*sdk.ElicitParams)
		if !ok || elicit == nil || elicit.Mode != "" && elicit.Mode != "form" {
			return f, ErrNobody
		}
		f.Request, p = id, elicit
	}
	f.Message = strings.TrimSpace(p.Message)
	var schema struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	text, err := json.Marshal(p.RequestedSchema)
	if err != nil || json.Unmarshal(text, &schema) != nil {
		return f, ErrNobody
	}
	f.Preset = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		switch one := schema.Properties[name]; {
		case one.Default != nil:
			f.Preset[name] = one.Default
		case slices.Contains(schema.Required, name) || len(schema.Properties) == 1:
			open, ok := one.field(name)
			if !ok || len(f.Open) == maxAsked {
				return f, ErrNobody
			}
			f.Open = append(f.Open, open)
		}
	}
	f.Of = len(f.Open)
	return f, nil
}

// field returns p as it is asked for, or false if it cannot be.
func (p property) field(name string) (field, bool) {
	f := field{Name: name, Type: p.Type, About: strings.TrimSpace(p.Title + " " + p.Description), Choices: p.options()}
	if len(f.Choices) > maxChoice || !slices.Contains([]string{"string", "number", "integer", "boolean", ""}, p.Type) {
		return f, false
	}
	if len(f.Choices) > 0 {
		f.Choices = append(f.Choices, noAnswer)
	}
	return f, true
}

// question is what the person is asked now.
func (f form) question() (q Question) {
	q.Text = f.Message
	if len(f.Open) == 0 {
		q.Choices = []string{agree, disagree}
		q.Text += f.presets("")
		return q
	}
	now := f.Open[0]
	if q.Text += "\n" + strings.TrimSpace(now.Name+": "+now.About); f.Of > 1 {
		q.Text += fmt.Sprintf("\n(%d of %d)", f.Of-len(f.Open)+1, f.Of)
	}
	if len(f.Open) == 1 { // the answer sends them
		q.Text += f.presets("also sent: ")
	}
	q.Choices = now.Choices
	return q
}

// presets returns a line for each value that the server has set, behind before.
func (f form) presets(before string) (lines string) {
	for _, name := range slices.Sorted(maps.Keys(f.Preset)) {
		if !slices.Contains(f.Said, name) {
			lines += fmt.Sprintf("\n%s%s: %v", before, name, f.Preset[name])
		}
	}
	return lines
}

// given is what a person has said, as it goes to the server with a call.
type given struct {
	responses sdk.InputResponseMap
	state     string
	task      string // which gets it; empty: the call does
}

// fill returns what goes to the server for what the person has said, or nil where they are to be asked
// for more: then next is what.
func (f form) fill(answer string) (g *given, next form) {
	declined := strings.EqualFold(answer, noAnswer) || len(f.Open) == 0 && answer != agree
	next = f
	next.Preset = map[string]any{}
	maps.Copy(next.Preset, f.Preset)
	if !declined && len(f.Open) > 0 {
		next.Preset[f.Open[0].Name] = f.Open[0].value(answer)
		next.Said = append(slices.Clip(f.Said), f.Open[0].Name)
		if next.Open = f.Open[1:]; len(next.Open) > 0 {
			return nil, next
		}
	}
	result := &sdk.ElicitResult{Action: "accept", Content: next.Preset}
	if declined {
		result = &sdk.ElicitResult{Action: "decline"}
	}
	return &given{responses: sdk.InputResponseMap{f.Request: result}, state: f.State, task: f.Task}, next
}

// value returns what a person has answered, of the type that the server wants.
func (f field) value(answer string) any {
	switch f.Type {
	case "boolean":
		return answer == agree
	case "number", "integer":
		if n, err := strconv.ParseFloat(answer, 64); err == nil {
			return n
		}
	}
	return answer // which the server refuses, if it is no number
}

// takeUp returns what a person has answered about the call that c makes again, or what the model
// reads in place of the call's result.
func (t *Tool) takeUp(ctx context.Context, c tools.Call) (*given, string, error) {
	if t.server.o.People == nil {
		return nil, "", nil
	}
	r, err := t.server.o.People.TakeUp(ctx, c, t.name, t.config.Name)
	if err != nil {
		return nil, "", fmt.Errorf("look for an answer to the MCP server %s: %w", t.name, err)
	}
	switch r.State {
	case Awaited:
		return nil, fmt.Sprintf("The person has not answered yet what the MCP server %s asks, so %s waits. A message tells you when they have: make the call then, not before.", t.name, t.config.Name), nil
	case TimedOut:
		t.abandon(ctx, c)
		return nil, fmt.Sprintf("The person has not answered in time what the MCP server %s asked, so %s was not done. Ask them yourself whether it is still wanted, before you call it again.", t.name, t.config.Name), nil
	case Given:
		var f form
		if err := json.Unmarshal(r.Memo, &f); err != nil {
			return nil, "", fmt.Errorf("read what the MCP server %s has asked: %w", t.name, err)
		}
		g, next := f.fill(r.Answer)
		if g != nil {
			return g, "", nil
		}
		if err := t.askNext(ctx, c, next); err != nil {
			return nil, "", fmt.Errorf("ask a person what else the MCP server %s wants to know: %w", t.name, err)
		}
		return nil, fmt.Sprintf("The MCP server %s asks the person for one more thing, and they were asked it in this chat. %s is not done yet. "+
			"End, and make the same call again when a message tells you that they have answered.", t.name, t.config.Name), nil
	}
	return nil, "", nil
}

// askNext has a person asked for the first open value of f.
func (t *Tool) askNext(ctx context.Context, c tools.Call, f form) (err error) {
	q := f.question()
	q.Server, q.Tool = t.name, t.config.Name
	if q.Memo, err = json.Marshal(f); err != nil {
		return fmt.Errorf("note the form: %w", err)
	}
	return t.server.o.People.Ask(ctx, c, q) // its caller says what for
}

// settle says what became of an answer that was taken up, which err tells of the call with it. An
// answer is used unless the server surely did not get it, or may get it twice. It returns err, and
// that the answer is kept if it is.
func (t *Tool) settle(ctx context.Context, c tools.Call, err error) error {
	_, said := answerIn(err)
	used := err == nil || said || !errors.Is(err, tools.ErrUnpaid) && !t.mayRepeat()
	if e := t.server.o.People.Settle(context.WithoutCancel(ctx), c, t.name, t.config.Name, used); e != nil {
		t.server.o.Log.Warn("answer to an MCP server not settled, it will be asked for again", "server", t.name, "tool", t.config.Name, "error", e)
		return err
	}
	if used {
		return err
	}
	return fmt.Errorf("%w. What the person has answered is kept: make the same call again, with the same arguments", err)
}

// ask has a person asked what the server wants to know before it does the call, or goes on with its
// task. state goes back to the server with the answer.
func (t *Tool) ask(ctx context.Context, c tools.Call, asked sdk.InputRequestMap, state, task string) (tools.Result, error) {
	err := ErrNobody
	if t.server.o.People != nil {
		var f form
		if f, err = readForm(asked); err == nil {
			f.State, f.Task = state, task
			err = t.askNext(ctx, c, f)
		}
	}
	switch {
	case errors.Is(err, ErrNobody) && task != "":
		t.abandon(ctx, c)
		return tools.Result{}, tools.Errorf(tools.Permanent, "%s of the MCP server %s asks, while it works, for something that only a person can answer, and this cannot be passed on to anybody here: "+
			"it was told to stop. What it has done by then is not known: look, before you call it again", t.config.Name, t.name)
	case errors.Is(err, ErrNobody):
		return tools.Result{}, tools.Errorf(tools.Permanent, "%s of the MCP server %s asks for something that only a person can answer, and this cannot be passed on to anybody here: "+
			"it was not done. Do it without this tool, or say what the person can do themselves", t.config.Name, t.name)
	case err != nil:
		return tools.Result{}, fmt.Errorf("ask a person what the MCP server %s wants to know: %w", t.name, err)
	}
	return tools.Result{Content: fmt.Sprintf("The MCP server %s asks the person something before it does %s, and they were asked it in this chat. It is not done yet. "+
		"Say that you wait for their answer, and end. A message tells you when they have answered: make the same call again then, with the same arguments.", t.name, t.config.Name)}, nil
}
