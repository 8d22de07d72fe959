package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/faultpoint"
	"parley/gateway"
	"parley/gateway/settings"
)

func runCommand(p program) *cobra.Command {
	return gatewayCommand(p, &cobra.Command{
		Use:   "run",
		Short: "Run the gateway of a configuration until it is told to end",
		Long: `run takes messages until it gets an interrupt or SIGTERM. Then it takes nothing
new, lets running answers end within worker.grace, and ends with status 0. A
second signal ends it at once. SIGHUP makes it read its configuration again, with
the files that it names, as parley reload does; the log names what changed and what
needs a restart. Status 78 is a mistake in the configuration. A service manager that
sets NOTIFY_SOCKET, as systemd does, is told when it is ready, stopping and alive.`,
	}, func(ctx context.Context, b built) error {
		g := b.gateway
		if err := hardenProcess(); err != nil {
			return err
		}
		if _, said := p.getenv("GOGC"); !said {
			debug.SetGCPercent(gateway.GCPercent)
		}
		defer onHangup(func() { _, _ = g.Reload() })() // log, status and metrics say how it ended
		defer notifyServiceManager(ctx, p.getenv, g.Started(), b.log)()
		return g.Run(ctx)
	})
}

func checkCommand(p program) *cobra.Command {
	return gatewayCommand(p, &cobra.Command{
		Use:   "check-config",
		Short: "Say every mistake in a configuration, without starting anything",
		Long: `check-config reads a configuration as run does, and says every mistake at once,
each as file:line:column. Nothing is started and no network is asked. Status 78
is a mistake. What is allowed, and perhaps not meant, is a warning on standard error.
MCP servers are named, with the tools that agents may have of them.`,
	}, func(_ context.Context, b built) error {
		if err := printServers(p.out, b.gateway.MCPServers()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "%s: ok\n", b.file)
		return err //nolint:wrapcheck // the caller says what failed
	})
}

// built is the gateway of a configuration.
type built struct {
	file    string
	gateway *gateway.Gateway
	log     *slog.Logger
}

// gatewayCommand makes c a command that builds the gateway of a configuration.
// Building finds what only the parts know, such as a malformed address.
func gatewayCommand(p program, c *cobra.Command, do func(ctx context.Context, b built) error) *cobra.Command {
	var file string
	var roles []string
	c.Flags().StringSliceVar(&roles, "role", nil, "what this process does, instead of what the configuration says: gateway (receives and sends), worker (runs turns), or both as gateway,worker")
	completeFlag(c, "role", settings.RoleGateway, settings.RoleWorker, settings.RoleGateway+","+settings.RoleWorker)
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the configuration; parley init writes one that explains every key")
	c.Args = cobra.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("role") && len(roles) == 0 {
			return newUsageError("--role says nothing; it is gateway, worker, or both as gateway,worker")
		}
		load := func() (settings.Config, error) {
			return configs.Load(file, p.getenv, roles...) //nolint:wrapcheck // it says every mistake
		}
		locate := func(err error) error { return configs.Locate(file, p.getenv, err) }
		cfg, err := load()
		if err != nil {
			return &exitError{exitConfig, err}
		}
		level := &slog.LevelVar{}
		level.Set(cfg.Log.SlogLevel())
		log := newLogger(p, cfg.Log, level)
		g, err := gateway.New(cfg, gateway.Options{
			Logger: log, Level: level, Next: load, Locate: locate,
			Version: version(), ParsePrices: configs.Prices, Now: faultpoint.Clock(), Keeper: signalKeeper(),
			PDFExtractor: pdfExtractor(),
		})
		if err != nil {
			return &exitError{exitConfig, locate(err)}
		}
		return runError(cmd.Context(), do(cmd.Context(), built{file, g, log}))
	}
	return c
}
