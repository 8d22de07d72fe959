// Command conformancetest is the MCP client of agents, as the protocol's conformance suite starts
// clients, those of OAuth too: an operator with a browser logs in.
//
//	go build -o /tmp/client ./tools/mcp/conformancetest
//	npx @modelcontextprotocol/conformance client --suite core --command /tmp/client
//
// The suite (Node 22) gives the URL of a server as the last argument. The server's tools are
// listed, consented to, and each called once; how the server likes that, the suite says.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/web/guard"
)

// known are the tools of the suite's servers, in the order in which they are called.
var known = []string{
	"add_numbers", "test_reconnection", "test_client_elicitation_defaults", "test-tool",
	"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type",
	"json_schema_2020_12_tool", "json_schema_echo",
	"test_headers", "test_custom_headers", "test_custom_headers_null", "valid_tool",
	"invalid_array_header", "invalid_colon_in_name", "invalid_control_char_name", "invalid_duplicate_diff_case", "invalid_duplicate_same_case",
	"invalid_empty_header", "invalid_non_ascii_name", "invalid_null_header", "invalid_number_header", "invalid_object_header", "invalid_space_in_name",
}

// patience is how long a server may take to answer at all: nothing of what is tried lasts so long.
const patience = 20 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "conformancetest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	at, err := url.Parse(os.Args[len(os.Args)-1])
	if err != nil || at.Port() == "" {
		return fmt.Errorf("the last argument is no URL of a server with a port: %w", err)
	}
	calls, err := wantedCalls()
	if err != nil {
		return err
	}
	everyPort := make([]int, 65535)
	for i := range everyPort {
		everyPort[i] = i + 1
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	login, err := loginConfig(ctx, at, dir)
	if err != nil {
		return err
	}
	// The suite's authorization servers are on ports of their own.
	server := mcp.Server{OAuth: login, Name: "suite", URL: at.String(), AllowPrivate: []guard.Network{{CIDR: "127.0.0.0/8", Ports: everyPort}, {CIDR: "::1/128", Ports: everyPort}}}
	for _, name := range known {
		server.Tools = append(server.Tools, mcp.ToolConfig{Name: name, Category: tools.Write})
	}
	changed, p := make(chan struct{}, 1), &person{}
	h, err := mcp.NewHost(mcp.Options{Servers: []mcp.Server{server}, People: p, Version: "1", Logins: filepath.Join(dir, "logins"), Changed: func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err // it says what it is about
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(running) }()
	err = use(ctx, &operator{host: h}, calls, p, changed)
	end()
	return errors.Join(err, <-ended)
}

// person is somebody who agrees to whatever a server asks, and takes the first of its choices.
type person struct{ asked, answered *mcp.Question }

var _ mcp.People = (*person)(nil)

func (p *person) isAsked() bool { return p.asked != nil }

// Ask implements [mcp.People].
func (p *person) Ask(_ context.Context, _ tools.Call, q mcp.Question) error {
	p.asked = &q
	return nil
}

// TakeUp implements [mcp.People].
func (p *person) TakeUp(context.Context, tools.Call, string, string) (mcp.Reply, error) {
	q := p.asked
	if p.asked, p.answered = nil, q; q == nil {
		return mcp.Reply{}, nil
	}
	return mcp.Reply{State: mcp.Given, Answer: append(q.Choices, "x")[0], Memo: q.Memo}, nil
}

// Settle implements [mcp.People].
func (p *person) Settle(_ context.Context, _ tools.Call, _, _ string, used bool) error {
	if !used {
		p.asked = p.answered
	}
	return nil
}

// wantedCall is a call that the suite asks for.
type wantedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// wantedCalls returns the calls that the suite asks for beside its tools.
func wantedCalls() (all []wantedCall, err error) {
	text := os.Getenv("MCP_CONFORMANCE_CONTEXT")
	if text == "" {
		return nil, nil
	}
	var c struct {
		ToolCalls []wantedCall `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	return c.ToolCalls, nil
}

// use consents to the tools of the server once they are listed, and calls them.
func use(ctx context.Context, o *operator, calls []wantedCall, p *person, changed <-chan struct{}) error {
	for seen := (time.Time{}); ; {
		h := o.host
		st := h.Status()[0]
		if st.State == mcp.NeedsLogin && st.Since != seen {
			seen = st.Since
			if err := o.logIn(ctx); err != nil {
				return err
			}
			continue
		}
		if st.State == mcp.Up {
			consents := map[string]mcp.Definition{}
			for _, t := range st.Tools {
				if t.State == mcp.New {
					consents[t.Tool] = t.Definition()
				}
			}
			h.SetConsents(st.Name, consents)
			return call(ctx, o, calls, p)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the server is %s: %s", st.State, st.Problem)
		}
	}
}

// call calls each tool once, or as the suite wants it. What comes of it is the suite's to judge.
func call(ctx context.Context, o *operator, calls []wantedCall, p *person) error {
	schemas := map[string]json.RawMessage{}
	offered := o.host.Tools()
	for _, t := range offered {
		schemas[t.Definition().Name] = t.Definition().Schema
	}
	for _, t := range offered {
		name := t.Definition().Name
		var some []json.RawMessage
		for _, c := range calls {
			if mcp.ToolName("suite", c.Name) == name {
				some = append(some, c.Arguments)
			}
		}
		if len(some) == 0 {
			arguments, err := argumentsOf(name, schemas)
			if err != nil {
				return err
			}
			some = append(some, arguments)
		}
		for _, arguments := range some {
			for again := true; again; {
				res, err := t.Run(ctx, tools.Call{ID: "1", Name: name, Arguments: arguments})
				_, _ = fmt.Fprintf(os.Stderr, "%s %s: %q, %v\n", name, arguments, res.Content, err)
				again = p.isAsked()
				if st := o.host.Status()[0]; err != nil && (st.State == mcp.NeedsLogin || st.Problem != "") {
					if err := o.logIn(ctx); err != nil {
						return err
					}
					again = true
				}
			}
		}
	}
	return nil
}

// argumentsOf returns the least that a tool takes.
func argumentsOf(name string, schemas map[string]json.RawMessage) (json.RawMessage, error) {
	if name == mcp.ToolName("suite", "json_schema_echo") {
		return json.Marshal(map[string]json.RawMessage{"schema": schemas[mcp.ToolName("suite", "json_schema_2020_12_tool")]})
	}
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(schemas[name], &s); err != nil {
		return nil, fmt.Errorf("read the parameters of %s: %w", name, err)
	}
	arguments := map[string]any{}
	for key, p := range s.Properties {
		if !slices.Contains(s.Required, key) {
			continue
		}
		switch p.Type {
		case "number", "integer":
			arguments[key] = 5
		case "boolean":
			arguments[key] = true
		case "object":
			arguments[key] = map[string]any{}
		default:
			arguments[key] = "x"
		}
	}
	return json.Marshal(arguments)
}
