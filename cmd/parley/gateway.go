package main

import (
	"context"
	"log/slog"

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
			gateway.TuneCollector()
		}
		defer onHangup(func() { _, _ = g.Reload() })() // log, status and metrics say how it ended
		defer notifyServiceManager(ctx, p.getenv, g.Started(), b.log)()
		return g.Run(ctx)
	})
}

// built is the gateway of a configuration.
type built struct {
	gateway *gateway.Gateway
	log     *slog.Logger
}

// gatewayCommand makes c a command that builds the gateway of a configuration.
// Building finds what only the parts know, such as a malformed address.
func gatewayCommand(p program, c *cobra.Command, do func(ctx context.Context, b built) error) *cobra.Command {
	var file string
	var roles []string
	c.Flags().StringSliceVar(&roles, "role", nil, roleUsage)
	completeFlag(c, "role", settings.RoleGateway, settings.RoleWorker, settings.RoleGateway+","+settings.RoleWorker)
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the configuration; parley init writes one that explains every key")
	c.Args = cobra.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("role") && len(roles) == 0 {
			return errNoRole
		}
		var log *slog.Logger
		g, err := buildGateway(p, file, roles, func(c settings.LogConfig, level slog.Leveler) *slog.Logger {
			log = newLogger(p, c, level)
			return log
		})
		if err != nil {
			return &exitError{exitConfig, err}
		}
		return runError(cmd.Context(), do(cmd.Context(), built{g, log}))
	}
	return c
}

// roleUsage explains the flag --role.
const roleUsage = "what this process does, instead of what the configuration says: gateway (receives and sends), worker (runs turns), or both as gateway,worker"

var errNoRole = newUsageError("--role says nothing; it is gateway, worker, or both as gateway,worker")

// buildGateway builds the gateway of the configuration in file. Its error is the mistakes in it.
func buildGateway(p program, file string, roles []string, logger func(settings.LogConfig, slog.Leveler) *slog.Logger) (*gateway.Gateway, error) {
	load := func() (settings.Config, error) {
		return configs.Load(file, p.getenv, roles...) // it says every mistake
	}
	locate := func(err error) error { return configs.Locate(file, p.getenv, err) }
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	level := &slog.LevelVar{}
	level.Set(cfg.Log.SlogLevel())
	g, err := gateway.New(cfg, gateway.Options{
		Logger: logger(cfg.Log, level), Level: level, Next: load, Locate: locate,
		Version: version(), ParsePrices: configs.Prices, Now: faultpoint.Clock(), Keeper: signalKeeper(),
		PDFExtractor: pdfExtractor(),
	})
	if err != nil {
		return nil, locate(err)
	}
	return g, nil
}
