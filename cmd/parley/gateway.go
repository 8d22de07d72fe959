package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway"
)

func runCommand(p program) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the gateway of a configuration until it is told to end",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(p, file)
			if err != nil {
				return err
			}
			log := logger(p, cfg.Log)
			g, err := gateway.New(cfg, gateway.Options{Logger: log, Version: version()})
			if err != nil {
				return &exitError{exitConfig, fmt.Errorf("%s: %w", file, err)}
			}
			return failed(g.Run(cmd.Context()))
		},
	}
	configFlag(c, &file)
	return c
}

func checkCommand(p program) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check-config",
		Short: "Say every mistake in a configuration, without starting anything",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := load(p, file)
			if err != nil {
				return err
			}
			// Building finds what only the parts know, such as a malformed URL.
			if _, err := gateway.New(cfg, gateway.Options{Logger: logger(p, cfg.Log)}); err != nil {
				return &exitError{exitConfig, fmt.Errorf("%s: %w", file, err)}
			}
			_, err = fmt.Fprintf(p.out, "%s: ok\n", file)
			return err
		},
	}
	configFlag(c, &file)
	return c
}

func configFlag(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "config", "c", "parley.yaml", "the configuration; configs/example.yaml explains every key")
}

func load(p program, file string) (gateway.Config, error) {
	cfg, err := configs.Load(file, p.getenv)
	if err != nil {
		return cfg, &exitError{exitConfig, err}
	}
	return cfg, nil
}

// logger writes to standard error: text where somebody reads, JSON where a
// program does.
func logger(p program, c gateway.LogConfig) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // validated; info otherwise
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "text" || c.Format == "" && terminalWriter(p.err) {
		return slog.New(slog.NewTextHandler(p.err, o))
	}
	return slog.New(slog.NewJSONHandler(p.err, o))
}

func terminalWriter(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && terminal(f)
}

func versionCommand(p program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which parley this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": version(), "revision": setting("vcs.revision"), "go": runtime.Version()}
			if asJSON {
				return json.NewEncoder(p.out).Encode(v)
			}
			_, err := fmt.Fprintf(p.out, "parley %s (revision %s, %s)\n", v["version"], v["revision"], v["go"])
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// version is what the build was made from; "dev" when nobody said.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "dev"
}

func setting(key string) string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return "unknown"
}
