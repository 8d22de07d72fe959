package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/llm"
	"parley/tools"
	"parley/tools/mcp/tasks"
)

// Tool is a tool of a server, as the operator has consented to it.
type Tool struct {
	server     *server // nil: it is of a recording, and does not run
	name       string  // of the server
	where      string  // of the server, with the network that it has
	config     ToolConfig
	definition Definition
	timeout    time.Duration
}

var (
	_ tools.Tool       = (*Tool)(nil)
	_ tools.Timed      = (*Tool)(nil)
	_ tools.Resumable  = (*Tool)(nil)
	_ tools.Continuer  = (*Tool)(nil)
	_ tools.Reasoner   = (*Tool)(nil)
	_ tools.Announcer  = (*Tool)(nil)
	_ tools.Petitioner = (*Tool)(nil)
)

// Definition implements [tools.Tool]. The description says whose words it is.
func (t *Tool) Definition() llm.Definition {
	about := fmt.Sprintf("Tool %s of the MCP server %s, which describes it so: %s", t.config.Name, t.name, t.definition.Description)
	if t.definition.Description == "" {
		about = fmt.Sprintf("Tool %s of the MCP server %s, which does not describe it.", t.config.Name, t.name)
	}
	return llm.Definition{Name: ToolName(t.name, t.config.Name), Description: shorten(about, maxDescription), Schema: t.definition.Schema}
}

// Digest returns that of all that the server said of the tool when its operator consented to it.
func (t *Tool) Digest() string { return t.definition.Digest }

// Category implements [tools.Tool]: the one that the operator gave, whatever the server hints.
func (t *Tool) Category(tools.Call) tools.Category { return t.config.category() }

// Reason implements [tools.Reasoner].
func (t *Tool) Reason(tools.Call) string {
	if t.config.Category == "" {
		return "the configuration does not say what this tool does, so a person decides each time"
	}
	return ""
}

// Timeout implements [tools.Timed].
func (t *Tool) Timeout(tools.Call) time.Duration { return t.timeout }

// Resumable implements [tools.Resumable].
func (t *Tool) Resumable() bool { return t.config.Idempotent }

// Announcement implements [tools.Announcer].
func (t *Tool) Announcement() tools.Announcement {
	return tools.Announcement{Doing: "Using " + t.config.Name + " of " + t.name}
}

// Petition implements [tools.Petitioner]. A permission holds for the arguments, for the tool as
// its server described it then, and for where the server is and may connect to.
func (t *Tool) Petition(c tools.Call) (tools.Petition, error) {
	return tools.Petition{
		Text:    t.config.Name + " " + string(c.Arguments),
		Where:   "the MCP server " + t.name + " (" + t.where + ")",
		Binding: []string{t.definition.Digest, t.where},
	}, nil
}

// errRecorded is why a tool of a recording does not run.
var errRecorded = errors.New("a replay calls no MCP server")

// Run implements [tools.Tool]. What the server says is framed as untrusted text. A call that
// may have been made is never made again, unless the operator said that it may be, and that it
// costs nothing: the price of one call is held.
func (t *Tool) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	if t.server == nil {
		return tools.Result{}, errRecorded
	}
	o, err := t.findTask(ctx, c)
	if err != nil {
		return tools.Result{}, tools.Unpaid(err)
	}
	answer, waits, err := t.takeUp(ctx, c)
	switch {
	case err != nil || waits != "": // the server is not asked
		return tools.Result{Content: waits, Unpaid: true}, tools.Unpaid(err)
	case o != nil:
		return t.goOn(ctx, c, o, answer)
	case answer != nil && answer.task != "": // its task is forgotten
		return tools.Result{}, t.settle(ctx, c, t.lostTask())
	}
	res, err := t.server.call(ctx, t, c.Arguments, answer, t.mayRepeat() && c.Price == 0)
	if answer != nil {
		err = t.settle(ctx, c, err)
	}
	if said, ok := answerIn(err); ok {
		return tools.Result{Content: frame(t.name, said.Message)}, refusal(t, said)
	}
	switch {
	case errors.Is(err, tools.ErrUnpaid): // its server was not asked
		return tools.Result{}, err
	case ctx.Err() != nil:
		return tools.Result{Content: t.cutShort()}, context.Cause(ctx)
	case err != nil:
		return tools.Result{}, err
	case res.NeedsInput() || len(res.InputRequests) > 0:
		return t.ask(ctx, c, res.InputRequests, res.RequestState, "")
	}
	if task, err := tasks.Began(res); err != nil || task != nil {
		return t.begun(ctx, c, task, err)
	}
	return t.finished(res)
}

// finished returns what a model reads of the result of a call.
func (t *Tool) finished(res *sdk.CallToolResult) (tools.Result, error) {
	if kind := unknownKind(res); kind != "" {
		return tools.Result{}, tools.Errorf(tools.Permanent, "interrupted; outcome unknown: the MCP server %s has answered the call of %s in a way that is not known here (%s). "+
			"Whether it was done is not known: look, before you call it again", t.name, t.config.Name, kind)
	}
	result := tools.Result{Content: frame(t.name, resultText(res)), Metadata: t.metadata(len(res.Content))}
	if res.IsError {
		return result, fmt.Errorf("%s of the MCP server %s failed", t.config.Name, t.name)
	}
	return result, nil
}

// cutShort says what a call left behind that was ended.
func (t *Tool) cutShort() string {
	if t.mayRepeat() {
		return ""
	}
	return fmt.Sprintf("The MCP server %s was told to stop %s. Whether it has done it is not known: look, before you call it again.", t.name, t.config.Name)
}

// mayRepeat reports whether a call may be made again when nobody knows what became of it.
func (t *Tool) mayRepeat() bool {
	return t.config.Idempotent || t.config.category() == tools.Read
}

// refusal words an answer of a server that is an error of the protocol. Its text is the
// server's, and is not in it.
func refusal(t *Tool, said *jsonrpc.Error) error {
	if said.Code == sdk.CodeURLElicitationRequired {
		return tools.Errorf(tools.Permanent, "%s of the MCP server %s wants a person to open a page first, which cannot be passed on to anybody here: it was not done", t.config.Name, t.name)
	}
	return tools.Errorf(tools.Permanent, "the MCP server %s refused the call of %s with the error %d", t.name, t.config.Name, said.Code)
}

// metadata says to people and logs what was asked.
func (t *Tool) metadata(parts int) string {
	text, err := json.Marshal(struct {
		Server string `json:"server"`
		Tool   string `json:"tool"`
		Parts  int    `json:"parts"`
	}{t.name, t.config.Name, parts})
	if err != nil {
		return "" // texts and a number always can
	}
	return string(text)
}
