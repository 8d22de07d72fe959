package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"parley/gateway/redaction"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/sandbox"
)

// ToolCall is a call of a command-line tool, made by an operator.
type ToolCall struct {
	Name      string
	Arguments []string // each as name=value
	Workspace string   // the folder in which it runs; "": a new one, which is removed afterwards
	DryRun    bool     // run nothing
	// Getenv looks up a variable of this process.
	Getenv func(string) (string, bool)
}

// ToolAnswer is what came of a ToolCall.
type ToolAnswer struct {
	Command []string // the program and its arguments
	Env     []string // names of the variables that it gets, beside what the sandbox sets
	Result  string   // what a model would read, without secrets
	Err     error    // why it failed; nil: it did not
}

// CallTool makes a call of a command-line tool of cfg as a turn does: its arguments are checked
// and it runs in the sandbox of cfg. Nobody is asked, whatever its category is. An error is
// about the call: nothing ran.
func CallTool(ctx context.Context, cfg settings.Config, c ToolCall) (a ToolAnswer, err error) {
	names := commandline.Names(cfg.Tools.Commands)
	i := slices.Index(names, c.Name)
	if i < 0 {
		return a, fmt.Errorf("no command-line tool %q; there are %s", c.Name, cmp.Or(strings.Join(names, ", "), "none: tools.file names the file that describes them")) // for the operator
	}
	spec := cfg.Tools.Commands[i]
	args, err := spec.Arguments(c.Arguments)
	if err != nil {
		return a, err
	}
	call := tools.Call{ID: "operator", Name: c.Name, Arguments: args, Workspace: c.Workspace, Progress: func(string) {}}
	tool, err := commandline.New(spec, commandline.Options{Runner: recordedRunner{}})
	if err != nil {
		return a, err
	}
	cmd, err := tool.Command(call)
	if err != nil {
		return a, fmt.Errorf("%s: %w", c.Name, err)
	}
	a.Command = cmd.Args
	for _, name := range sandbox.Variables() {
		if _, ok := c.Getenv(name); ok {
			a.Env = append(a.Env, name)
		}
	}
	for _, v := range spec.Env {
		a.Env = append(a.Env, v.Name)
	}
	if c.DryRun {
		return a, nil
	}
	if call.Workspace == "" {
		if call.Workspace, err = os.MkdirTemp("", "parley-tool-"); err != nil {
			return a, fmt.Errorf("make a workspace: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(call.Workspace)) }()
	}
	redactor := redaction.New(secretsOf(cfg)...)
	res, failure, err := runTool(ctx, cfg, spec, call, c.Getenv, redactor)
	a.Result, a.Err = redactor.Clean(res.Content), redactor.CleanError(failure)
	return a, err
}

// runTool runs a call in a sandbox of its own, within the time of its tool. err is that of the
// sandbox.
func runTool(ctx context.Context, cfg settings.Config, spec commandline.Spec, call tools.Call, getenv func(string) (string, bool), redactor *redaction.Redactor) (res tools.Result, failure, err error) {
	box := cfg.Sandbox
	box.Getenv = getenv
	s, err := sandbox.Open(ctx, box)
	if err != nil {
		return res, nil, fmt.Errorf("open the sandbox: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	tool, err := commandline.New(spec, commandline.Options{Runner: walls{Sandbox: s}, Clean: redactor})
	if err != nil {
		return res, nil, err
	}
	limit := cmp.Or(tool.Timeout(call), tools.DefaultTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("stopped after %s: %w", limit, tools.ErrTimeout))
	defer cancel()
	res, failure = tool.Run(ctx, call)
	return res, failure, nil
}
