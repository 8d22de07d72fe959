// Package shell is the tool bash, by which an agent runs a script in its workspace.
//
//	arguments → policy.Judge → the reprint → Runner: bash --noprofile --norc -c → result
//
// A script is judged by tools/shell/policy, and what runs is the text that was judged: the
// reprint, not what the model wrote. The walls around it are the Runner's; see
// docs/decisions/0078.
package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"parley/tools"
	"parley/tools/programs"
	"parley/tools/shell/policy"
	"parley/tools/web/guard"
)

// Name is the name of the tool.
const Name = "bash"

//go:embed bash.md
var doc string

type (
	// Runner runs scripts.
	Runner = programs.Runner
	// Command is a script, as it is run.
	Command = programs.Command
	// Result is how a script ended.
	Result = programs.Result
)

// Options are what the tool is made of. Runner and Policy are required.
type Options struct {
	Runner   Runner
	Policy   *policy.Policy
	Where    string   // what runs scripts, to stand behind "in" where people are asked; may be empty
	Output   int      // bytes of one result; 0: tools.DefaultOutput (F22)
	Scratch  []string // further folders that scripts may change, as they see them, such as /tmp
	ReadOnly []string // further folders that scripts may read
	// Network is where scripts may connect to, and AllowPrivate are networks in which hosts of it
	// may be although they are not public.
	Network      programs.Network
	AllowPrivate []guard.Network
	// Clean takes secrets out of what scripts write; nil: they may write any.
	Clean programs.Cleaner
}

// New makes the tool bash. A call is of the category of its script; one that is denied is
// refused by Run before anything runs, so it is of category Read, and nobody is asked.
//
// It may take as long as other tools of the agent (F23). A call that may have changed something does not run again after a crash: see
// [tools.Resumable].
func New(o Options) (tools.Tool, error) {
	switch {
	case o.Runner == nil:
		return nil, errors.New("tool bash: no runner")
	case o.Policy == nil:
		return nil, errors.New("tool bash: no policy")
	case o.Output < 0 || o.Output > 0 && o.Output < programs.MinOutput:
		return nil, fmt.Errorf("tool bash: output of %d bytes is less than %d", o.Output, programs.MinOutput)
	}
	if o.Output == 0 {
		o.Output = tools.DefaultOutput
	}
	b := bash{o: o}
	decoded := func(input) tools.Category { return tools.Read } // Admin where they do not decode
	typed, err := tools.New(Name, o.describe(), decoded, b.run, announcement)
	b.Tool = typed
	return b, err
}

// describe returns what the model reads of the tool.
func (o Options) describe() string {
	switch {
	case o.Network.Whole:
		return doc + "\nPrograms have this machine's network.\n"
	case len(o.Network.Hosts) > 0:
		return doc + "\nPrograms reach these hosts by HTTP and HTTPS, through the proxy that their environment names,\nand nothing else: " + strings.Join(o.Network.Hosts, ", ") + "\n"
	}
	return doc
}

type input struct {
	Command string `json:"command" jsonschema:"bash script" minLength:"1"`
}

var announcement = tools.Announcement{Doing: "Running", Of: "command"}

// bash is the tool. The Tool in it decodes the arguments.
type bash struct {
	tools.Tool
	o Options
}

var (
	_ tools.Checker   = bash{}
	_ tools.Announcer = bash{}
	_ tools.Reasoner  = bash{}
)

// Category implements [tools.Tool].
func (b bash) Category(c tools.Call) tools.Category {
	j, ok := b.judgeCall(c)
	if !ok {
		return tools.Admin
	}
	switch j.Verdict {
	case policy.Read, policy.Deny: // what is denied does nothing but say so
		return tools.Read
	case policy.Write:
		return tools.Write
	default:
		return tools.Admin
	}
}

// Reason implements [tools.Reasoner].
func (b bash) Reason(c tools.Call) string {
	j, ok := b.judgeCall(c)
	if !ok {
		return ""
	}
	return j.String()
}

// Announcement implements [tools.Announcer].
func (bash) Announcement() tools.Announcement { return announcement }

// Check implements [tools.Checker].
func (b bash) Check(a tools.Arguments) error {
	if c, ok := b.Tool.(tools.Checker); ok {
		return c.Check(a)
	}
	return nil
}

// judgeCall returns the judgement on the script of a call; false where the arguments do
// not decode.
func (b bash) judgeCall(c tools.Call) (policy.Judgement, bool) {
	if b.Tool.Category(c) == tools.Admin {
		return policy.Judgement{}, false
	}
	var in input
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return policy.Judgement{}, false
	}
	return b.judge(in, c), true
}

// judge judges a script as it will be run.
func (b bash) judge(in input, c tools.Call) policy.Judgement {
	inside := b.o.Runner.Inside(c.Workspace)
	return b.o.Policy.Judge(in.Command, policy.Place{
		Dir:   path.Join(inside, c.Dir),
		Roots: append([]string{inside}, b.o.Scratch...),
	})
}

// tame is what keeps git to what the policy has judged. git takes any folder that is laid
// out as a bare repository for one, and runs the programs that its file "config" names, at
// the first git status; a repository that is one may name a program that git asks what has
// changed, and a hook that runs when a git status refreshes the index. Where a message is
// missing it starts an editor, which would take commands from the script's input. What the
// agent's own variables say comes behind it.
var tame = []string{
	"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit",
	"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false", "GIT_OPTIONAL_LOCKS=0",
	"GIT_EDITOR=false", "GIT_TERMINAL_PROMPT=0",
}

// run runs the reprint of a script. (F21, S6.5)
func (b bash) run(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
	j := b.judge(in, c)
	if j.Verdict == policy.Deny {
		return tools.Result{}, tools.Errorf(tools.Permanent, "not run: %s", j)
	}
	out := programs.NewOutput(b.o.Output, c.Progress, b.o.Clean)
	res, err := out.Run(ctx, b.o.Runner, Command{
		Args:      []string{"bash", "--noprofile", "--norc", "-c", j.Text},
		Dir:       c.Dir,
		Workspace: c.Workspace,
		ReadOnly:  slices.Clone(b.o.ReadOnly),
		Env:       slices.Concat(tame, c.Env),
		Stdin:     strings.NewReader(""),
		Network:   b.o.Network, AllowPrivate: b.o.AllowPrivate,
	})
	if err != nil {
		return tools.Result{Content: out.Report("")}, permanent(err)
	}
	status := res.String()
	if c.Dir != "" {
		status += "folder: " + nameFolder(c.Dir) + "\n"
	}
	return tools.Result{Content: out.Report(status), Metadata: metadata(j, res)}, nil
}

// permanent marks the error of a program that would write as much the next time. (F24)
func permanent(err error) error {
	if flood, ok := errors.AsType[*programs.FloodError](err); ok {
		return tools.Errorf(tools.Permanent, "%w", flood)
	}
	return err
}

// metadata says to people and logs what ran.
func metadata(j policy.Judgement, r Result) string {
	text, err := json.Marshal(struct {
		Command string `json:"command"`
		Verdict string `json:"verdict"`
		Code    int    `json:"exit_code"`
	}{j.Text, j.Verdict.String(), r.Code})
	if err != nil {
		return ""
	}
	return string(text)
}
