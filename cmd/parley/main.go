// Command parley is the gateway: run it, try it, check its configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit statuses. 78 is EX_CONFIG of sysexits.h, which service managers are
// told not to restart on.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitConfig = 78
)

// program is what a command may use of the process around it.
type program struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) (string, bool)
	tty    func(io.Reader) bool
}

// exitError carries the exit status of a failed command.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func main() {
	os.Exit(run(os.Args[1:], program{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.LookupEnv, tty: terminal}))
}

// run is main without the process: it returns the exit status.
func run(args []string, p program) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends things in order; a second one ends the process.
	context.AfterFunc(ctx, stop)

	root := command(p)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var status *exitError
	if errors.As(err, &status) {
		if text := status.Error(); text != "" {
			_, _ = fmt.Fprintln(p.err, text)
		}
		return status.status
	}
	_, _ = fmt.Fprintf(p.err, "parley: %v\nSee parley --help.\n", err)
	return exitUsage
}

func command(p program) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "A chat-bot gateway: people write in Telegram, a model answers, the money is exact",
		Long: `parley answers people who write to a bot, in direct messages or by mentioning
it in a group, with a model that has tools. Nothing accepted is lost, nothing is
answered twice, and every model call is a row in a ledger.

Start with:  parley try`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.AddCommand(runCommand(p), tryCommand(p), simCommand(p), checkCommand(p), versionCommand(p))
	return root
}

// failed is an error of running, not of how the command was called.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFailed, fmt.Errorf("parley: %w", err)}
}

func terminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
