package commandline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"parley/llm"
	"parley/tools"
	"parley/tools/programs"
)

// Options are what tools of a description are made of. Runner is required.
type Options struct {
	Runner programs.Runner
	// Clean takes secrets out of what programs write; nil: they may write any.
	Clean programs.Cleaner
	Log   *slog.Logger // nil: silence
	// Where says to people what runs programs, to stand behind "in", as "a sandbox of level A".
	Where string
}

// NewAll makes the tools of descriptions, as New does each.
func NewAll(specs []Spec, o Options) (all []tools.Tool, err error) {
	sums := map[programs.Program]string{} // one program may be that of many tools
	for _, s := range specs {
		t, err := newTool(s, o)
		if err != nil {
			return nil, err
		}
		if t.sum = sums[s.Program]; t.sum == "" {
			if err := t.seal(); err != nil {
				return nil, err
			}
		}
		sums[s.Program] = t.sum
		all = append(all, t)
	}
	return all, nil
}

// New makes the tool of a description. From then on it runs its program only as it is now: it
// is hashed here, and again before each call.
func New(s Spec, o Options) (*Tool, error) {
	t, err := newTool(s, o)
	if err != nil {
		return nil, err
	}
	return t, t.seal()
}

// seal notes what the program is.
func (t *Tool) seal() (err error) {
	if t.spec.Program.Real == "" {
		return nil // it runs nothing
	}
	if t.sum, err = t.spec.Program.Sum(); err != nil {
		return fmt.Errorf("tool %s: hash its program: %w", t.spec.Name, err)
	}
	return nil
}

func newTool(s Spec, o Options) (*Tool, error) {
	if o.Runner == nil {
		return nil, fmt.Errorf("tool %s: no runner", s.Name)
	}
	if err := Validate("", []Spec{s}); err != nil {
		return nil, fmt.Errorf("tool %s: %w", s.Name, err)
	}
	text, err := s.schema()
	if err != nil {
		return nil, fmt.Errorf("tool %s: make schema: %w", s.Name, err)
	}
	schema, err := tools.ParseSchema(text)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", s.Name, err)
	}
	c, err := s.parse()
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", s.Name, err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if s.Output == 0 {
		c.spec.Output = tools.DefaultOutput
	}
	def := llm.Definition{Name: s.Name, Description: strings.TrimSpace(s.Description), Schema: text}
	return &Tool{command: c, o: o, def: def, schema: schema}, nil
}

// Tool is a command line as a tool.
type Tool struct {
	command

	o      Options
	def    llm.Definition
	schema *tools.Schema
	sum    string // of the program, when the tool was made
}

var (
	_ tools.Tool      = (*Tool)(nil)
	_ tools.Checker   = (*Tool)(nil)
	_ tools.Timed     = (*Tool)(nil)
	_ tools.Announcer = (*Tool)(nil)

	_ tools.Petitioner = (*Tool)(nil)
)

// Definition implements [tools.Tool].
func (t *Tool) Definition() llm.Definition { return t.def }

// Category implements [tools.Tool]: the one that the operator gave. (G06)
func (t *Tool) Category(tools.Call) tools.Category { return t.spec.Category }

// Timeout implements [tools.Timed].
func (t *Tool) Timeout(tools.Call) time.Duration { return t.spec.Timeout }

// Announcement implements [tools.Announcer].
func (t *Tool) Announcement() tools.Announcement {
	return tools.Announcement{Doing: "Running " + t.spec.Name}
}

// Check implements [tools.Checker].
func (t *Tool) Check(a tools.Arguments) error {
	_, err := t.arguments(a)
	return err
}

// Command returns what a call runs, or why it does not run, in a sentence for the model.
func (t *Tool) Command(c tools.Call) (programs.Command, error) {
	a, err := tools.DecodeArguments(string(c.Arguments))
	if err != nil {
		return programs.Command{}, err
	}
	if err := t.schema.Check(a); err != nil {
		return programs.Command{}, err
	}
	args, err := t.arguments(a)
	if err != nil {
		return programs.Command{}, err
	}
	cmd := programs.Command{
		Args: append([]string{t.spec.Program.Path}, args...), Dir: c.Dir, Workspace: c.Workspace,
		ReadOnly: slices.Concat(t.spec.Program.Paths(), t.spec.ReadOnly), Network: t.spec.Network, AllowPrivate: t.spec.AllowPrivate,
		Stdin: strings.NewReader(""),
	}
	// Not the conversation's own environment: what steers the loader or the program would
	// get at the operator's secrets. (H01, H02)
	for _, v := range t.spec.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	return cmd, nil
}

// Run implements [tools.Tool]. An exit status other than 0 is an error, with all that was
// written.
func (t *Tool) Run(ctx context.Context, c tools.Call) (tools.Result, error) {
	cmd, err := t.Command(c)
	if err != nil {
		return tools.Result{}, tools.Unpaid(tools.Errorf(tools.Permanent, "invalid arguments: %w", err))
	}
	if err := t.verify(); err != nil {
		t.o.Log.Error("program of a tool not run, it has changed: reload the configuration to take it as it is now", "tool", t.spec.Name, "program", t.spec.Program.Path)
		return tools.Result{}, tools.Unpaid(tools.Errorf(tools.Permanent, "not run: %w", err))
	}
	var progress func(string)
	if t.o.Clean != nil || len(Secrets([]Spec{t.spec})) == 0 {
		progress = c.Progress
	}
	out := programs.NewOutput(t.spec.Output, progress, t.o.Clean)
	res, err := out.Run(ctx, t.o.Runner, cmd)
	switch {
	case err != nil:
		return tools.Result{Content: out.Report("")}, permanent(err)
	case res.Status() != 0:
		return tools.Result{Content: out.Report(res.String()), Metadata: metadata(cmd, res)},
			fmt.Errorf("%s failed", t.spec.Name)
	}
	return tools.Result{Content: out.Report(res.String()), Metadata: metadata(cmd, res)}, nil
}

// permanent marks the error of a program that would write as much the next time. (F24)
func permanent(err error) error {
	if flood, ok := errors.AsType[*programs.FloodError](err); ok {
		return tools.Errorf(tools.Permanent, "%w", flood)
	}
	return err
}

// metadata says to people and logs what ran.
func metadata(c programs.Command, r programs.Result) string {
	text, err := json.Marshal(struct {
		Args []string `json:"argv"`
		Code int      `json:"exit_code"`
	}{c.Args, r.Status()})
	if err != nil {
		return "" // texts and a number always can
	}
	return string(text)
}
