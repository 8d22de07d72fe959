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

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	// Roots for machines that have none, such as an empty container. Where the
	// system has its own, those hold.
	_ "golang.org/x/crypto/x509roots/fallback"

	"parley/tools"
	"parley/tools/sandbox"
)

// Exit statuses. 69 and 78 are EX_UNAVAILABLE and EX_CONFIG of sysexits.h; on
// 78 service managers are told not to restart.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and failed, or status found something wrong
	exitUsage  = 2
	exitNobody = 69 // no gateway runs that could be asked
	exitConfig = 78
)

// program is what a command may use of the process around it.
type program struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) (string, bool)
}

// exitError carries the exit status of a failed command.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func main() {
	sandbox.Main() // this program is also what builds walls around the programs that tools run
	os.Exit(run(os.Args[1:], program{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.LookupEnv}))
}

// run is main without the process: it returns the exit status.
func run(args []string, p program) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends things in order; a second one ends the process.
	context.AfterFunc(ctx, stop)

	root := rootCommand(p)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if status, ok := errors.AsType[*exitError](err); ok {
		_, _ = fmt.Fprintln(p.err, status)
		return status.status
	}
	_, _ = fmt.Fprintf(p.err, "parley: %v\nSee parley --help.\n", err)
	return exitUsage
}

func rootCommand(p program) *cobra.Command {
	var sayVersion bool
	root := &cobra.Command{
		Use:   "parley",
		Short: "A chat-bot gateway: people write in Telegram, a model answers, the money is exact",
		Long: `parley answers people who write to a bot, in direct messages or by mentioning
it in a group, with a model that has tools. Nothing accepted is lost, nothing is
answered twice, and every model call is a row in a ledger.

Start with:  parley try`,
		SilenceErrors: true,
		SilenceUsage:  true,
		// Without this an unknown command would be an argument.
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sayVersion {
				return printVersion(cmd.Context(), p)
			}
			return cmd.Help()
		},
	}
	// Not cobra's own, whose template would make the binary a quarter larger: what templates
	// call is unknown when it is linked.
	root.Flags().BoolVar(&sayVersion, "version", false, "say which parley this is")
	root.AddCommand(runCommand(p), tryCommand(p), simCommand(p), initCommand(p), checkCommand(p), doctorCommand(p), schemaCommand(p), versionCommand(p), healthcheckCommand(p))
	root.AddCommand(statusCommand(p), backupCommand(p), restoreCommand(p), reloadCommand(p), whyCommand(p), sessionsCommand(p), usageCommand(p), budgetCommand(p), pageCommand(p), deadLettersCommand(p), approvalsCommand(p), pairCommand(p), accessCommand(p), forgetCommand(p), cronCommand(p), replayCommand(p), pricesCommand(p), toolsCommand(p), mcpCommand(p))
	root.AddCommand(signalCommand(p), keeperCommand(p), extractCommand(p), slackCommand(p), manCommand(p))
	suggestCommands(root)
	return root
}

// groupCommand returns a command that only holds others: by itself it prints its help.
func groupCommand(use, short, long string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(below...)
	return c
}

// suggestCommands has c and all below it that only hold other commands name the nearest, when
// there is none of that name.
func suggestCommands(c *cobra.Command) {
	for _, below := range c.Commands() {
		suggestCommands(below)
	}
	if !c.HasSubCommands() || c.Args == nil {
		return
	}
	takes := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		err := takes(c, args)
		if err == nil || len(args) == 0 {
			return err
		}
		var names []string
		for _, below := range c.Commands() {
			if !below.Hidden {
				names = append(names, below.Name())
			}
		}
		return fmt.Errorf("%w%s", err, tools.Suggest(args[0], names))
	}
}

// runError returns the error of a command that runs until somebody ends it, such as parley
// run. To be ended is no error.
func runError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return &exitError{exitFailed, fmt.Errorf("parley: %w", err)}
}

// commandError returns the error of a command that does one thing. A command that was
// interrupted has failed, so that a script does not go on as if the thing were done.
func commandError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitFailed, fmt.Errorf("parley: %w", err)}
}

// isTerminal reports whether stream is one that a person sits at.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
