package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"parley/simulators/signal"
)

// signalSim is the world of Signal with a signal-cli that listens for HTTP. That
// one receives only while somebody reads its events, so another, which a
// supervisor started, is not robbed of messages.
type signalSim struct {
	world *signal.Server
	cli   *signal.Daemon
	dir   string
}

func newSignalSim(o simOptions) (*signalSim, error) {
	world, err := signal.New(signal.Options{Addr: o.signal, Seed: o.seed, Accounts: []signal.Account{{Number: o.account, Name: o.username}}})
	if err != nil {
		return nil, err
	}
	if err := world.Listen(); err != nil {
		return nil, err
	}
	h := &signalSim{world: world}
	if h.dir, err = os.MkdirTemp("", "parley-sim-"); err != nil {
		return nil, errors.Join(fmt.Errorf("make a temporary folder: %w", err), world.Close())
	}
	h.cli, err = signal.NewDaemon(signal.DaemonOptions{
		World: world.URL(), Config: h.dir, Account: o.account, HTTP: o.http, ReceiveMode: signal.Manual, NoReceiveStdout: true,
	})
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// run serves until ctx ends; signal-cli ends before its world.
func (h *signalSim) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(h.dir)) }()
	outer, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return h.world.Run(outer) })
	err = h.cli.Run(ctx)
	stop()
	return errors.Join(err, g.Wait())
}

// close is for one that never ran.
func (h *signalSim) close() error {
	return errors.Join(h.world.Close(), os.RemoveAll(h.dir))
}

// signalCLICommand returns the simulated signal-cli as a process. Its arguments are
// signal-cli's own, but for the first.
func signalCLICommand(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "signal-cli --world URL [signal-cli's arguments]",
		Short: "Be the signal-cli of a running sim, for who supervises one",
		Long: `signal-cli is a simulated signal-cli: the daemon, with the options of the real
one. It connects to the world of Signal that sim says it serves. In a program's
configuration the command is: parley sim signal-cli --world URL. Without --config it
keeps its state in a cache folder of its own, and never where a real signal-cli has
its keys.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			world, rest, ok := cutWorldFlag(args)
			if !ok {
				return cmd.Help()
			}
			if !slices.ContainsFunc(rest, func(a string) bool { return a == "--config" || strings.HasPrefix(a, "--config=") }) {
				rest = append([]string{"--config", signalCLIFolder(world)}, rest...)
			}
			getenv := func(key string) string {
				if key == signal.WorldVariable {
					return world
				}
				v, _ := p.getenv(key)
				return v
			}
			if status := signal.Main(rest, getenv, p.out, p.err); status != exitOK {
				return &exitError{status, errSignalCLI}
			}
			return nil
		},
	}
}

var errSignalCLI = errors.New("the simulated signal-cli has ended")

// signalCLIArgs returns the command that runs the simulated signal-cli of a world: this
// program.
func signalCLIArgs(world string) []string {
	self, err := os.Executable()
	if err != nil { // there is no /proc
		self = os.Args[0]
	}
	return []string{self, "sim", "signal-cli", "--world", world}
}

// signalCLIFolder returns where the simulated signal-cli of a world keeps its state
// unless it is told.
func signalCLIFolder(world string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	_, host, _ := strings.Cut(world, "://")
	return filepath.Join(cache, "parley-sim", "signal-cli-"+url.PathEscape(host))
}

// cutWorldFlag takes the first argument, --world, from the rest.
func cutWorldFlag(args []string) (world string, rest []string, ok bool) {
	if len(args) == 0 {
		return "", nil, false
	}
	if v, is := strings.CutPrefix(args[0], "--world="); is {
		return v, args[1:], true
	}
	if args[0] == "--world" && len(args) > 1 {
		return args[1], args[2:], true
	}
	return "", nil, false
}
