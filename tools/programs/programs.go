// Package programs is what the tools share that run a program: the runner that they need,
// and what the program wrote, kept within bounds and in the words that a model reads.
package programs

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley/tools/web/guard"
)

// Runner runs programs behind walls. It may be used concurrently.
type Runner interface {
	// Run runs a program and returns when nothing of it is left. An exit status other than
	// 0 is a Result. If ctx ends, all that was started is killed, what was written has
	// arrived, and the error is the cause of it.
	Run(ctx context.Context, c Command) (Result, error)
	// Inside returns the path by which a program knows a workspace.
	Inside(workspace string) string
}

// Command is one program to run.
type Command struct {
	Args           []string // argument vector
	Dir            string   // working directory, relative to the workspace; "": the workspace
	Workspace      string   // absolute path of the folder that may be written
	ReadOnly       []string // absolute paths of further folders that may be read
	Env            []string // name=value, on top of what every program gets
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Timeout        time.Duration // 0: as long as the context lasts
	Network        Network       // where it may connect to
	// AllowPrivate are networks in which hosts of Network may be although they are not public.
	AllowPrivate []guard.Network
}

// Where says to people, to stand behind "in", where a program runs: dir is the folder of the
// workspace in which it begins, "" the workspace; where is what runs it, and may be empty.
func Where(dir, where string) string {
	if dir == "" {
		return where
	}
	return strings.TrimSuffix("the folder "+quote(dir)+" of the workspace, in "+where, ", in ")
}

// quote returns the name of a folder as code on one line, which it cannot leave.
func quote(name string) string {
	return "`" + strings.ReplaceAll(strings.Trim(strconv.Quote(name), `"`), "`", "'") + "`"
}

// Result is how a program ended.
type Result struct {
	Code   int            // exit status, -1 if a signal ended it
	Signal syscall.Signal // that ended it, or 0
}

// String says how the program ended, on lines of its own. (F21)
func (r Result) String() string {
	if r.Signal != 0 {
		return fmt.Sprintf("exit code: %d\nended by signal: %s\n", r.Status(), r.Signal)
	}
	return fmt.Sprintf("exit code: %d\n", r.Status())
}

// Status returns the exit status as a shell counts it: 128 and the signal that ended it.
func (r Result) Status() int {
	if r.Signal != 0 {
		return 128 + int(r.Signal)
	}
	return r.Code
}
