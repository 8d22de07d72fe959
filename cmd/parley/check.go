package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway/settings"
	"parley/problems"
	"parley/tools/mcp"
)

// checked is what check-config found.
type checked struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"`       // it has no mistake, and with --strict no warning
	Mistakes []finding `json:"mistakes"` // with which nothing runs
	Warnings []finding `json:"warnings"` // what is allowed, and perhaps not meant

	servers  []mcp.Server
	networks []string // which programs that agents run may connect to where
}

// finding is a mistake or a warning. Line and Column count from 1; 0: nowhere in the file.
type finding struct {
	File    string `json:"file,omitempty"` // another one, which the configuration names
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"` // as providers.main.api_key
	Message string `json:"message"`
}

func checkCommand(p program) *cobra.Command {
	var file string
	var roles []string
	var strict, asJSON bool
	c := &cobra.Command{
		Use:   "check-config",
		Short: "Say every mistake in a configuration, and what may not be meant, without starting anything",
		Long: `check-config reads a configuration as run does, and says every mistake at once,
each as file:line:column. Nothing is started and no network is asked. Status 78
is a mistake. What is allowed, and perhaps not meant, is a warning on standard error;
with --strict a warning is a mistake too: nobody who may talk to a bot, everybody with no
budget over all, a model without a price, budgets that are the wrong way round, ids of the
example, roots that hold half a machine. MCP servers are named, with the tools that agents
may have of them, and so is where scripts and your command lines may connect to.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("role") && len(roles) == 0 {
				return errNoRole
			}
			found, err := check(p, file, roles)
			if strict && len(found.Warnings) > 0 {
				found.OK = false
			}
			if asJSON {
				return reportJSON(p.out, found)
			}
			return report(p, found, err)
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "config", "c", "parley.yaml", "the configuration; parley init writes one that explains every key")
	f.StringSliceVar(&roles, "role", nil, roleUsage)
	completeFlag(c, "role", settings.RoleGateway, settings.RoleWorker, settings.RoleGateway+","+settings.RoleWorker)
	f.BoolVar(&strict, "strict", false, "end with 78 also when there are warnings")
	f.BoolVar(&asJSON, "json", false, "print mistakes and warnings as JSON on standard output: file, ok, mistakes, warnings")
	return c
}

// check builds the gateway of a configuration, and returns what is wrong with it; err is the
// mistakes as text.
func check(p program, file string, roles []string) (found checked, err error) {
	found = checked{File: file, Mistakes: []finding{}, Warnings: []finding{}}
	said := &warnings{}
	g, err := buildGateway(p, file, roles, func(settings.LogConfig, slog.Leveler) *slog.Logger { return slog.New(said) })
	if err != nil {
		found.Mistakes = findingsOf(file, err)
		return found, err
	}
	found.OK, found.servers = true, g.MCPServers()
	cfg, err := configs.Load(file, p.getenv, roles...)
	if err != nil { // it was changed in this moment
		found.OK, found.Mistakes = false, findingsOf(file, err)
		return found, err // it says every mistake
	}
	found.networks = networksOf(cfg)
	for _, w := range append(cfg.Warnings(), said.list...) { // one by one, as none hides another
		found.Warnings = append(found.Warnings, findingsOf(file, configs.Locate(file, p.getenv, problems.List{w}))...)
	}
	slices.SortStableFunc(found.Warnings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return found, nil
}

// findingsOf returns the mistakes of an error, with their places.
func findingsOf(file string, err error) (all []finding) {
	e, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return []finding{{Message: strings.TrimPrefix(err.Error(), file+": ")}}
	}
	for _, m := range e.Mistakes {
		all = append(all, finding{m.File, m.Line, m.Column, m.Path, m.Message})
	}
	return all
}

// warnings is a handler that keeps what is logged while a gateway is built: each such line is about
// the configuration.
type warnings struct{ list problems.List }

// Enabled implements [slog.Handler].
func (*warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	path, rest := "", []string{}
	r.Attrs(func(a slog.Attr) bool {
		if slices.Contains([]string{"config_path", "key"}, a.Key) {
			path = a.Value.String()
		} else {
			rest = append(rest, a.Key+" "+a.Value.String())
		}
		return true
	})
	text := r.Message
	if len(rest) > 0 {
		text += " (" + strings.Join(rest, ", ") + ")"
	}
	w.list.Add(path, "%s", text)
	return nil
}

// WithAttrs implements [slog.Handler].
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements [slog.Handler].
func (w *warnings) WithGroup(string) slog.Handler { return w }

// networksOf says which programs that agents run may connect to where.
func networksOf(c settings.Config) (lines []string) {
	if c.Bash.Enabled && !c.Bash.Network.IsZero() {
		lines = append(lines, "scripts of bash: "+c.Bash.Network.String())
	}
	for _, one := range c.Tools.Commands {
		if !one.Network.IsZero() {
			lines = append(lines, "tool "+one.Name+": "+one.Network.String())
		}
	}
	return lines
}

// report says what was found, as text.
func report(p program, found checked, err error) error {
	if err != nil {
		return &exitError{exitConfig, err}
	}
	for _, w := range found.Warnings {
		place := found.File
		if w.Line > 0 {
			place += fmt.Sprintf(":%d:%d", w.Line, max(w.Column, 1))
		}
		if w.Path != "" {
			place += ": " + w.Path
		}
		if _, err := fmt.Fprintf(p.err, "%s: warning: %s\n", sanitize(place), sanitize(w.Message)); err != nil {
			return err // the caller says what failed
		}
	}
	if !found.OK {
		return &exitError{exitConfig, fmt.Errorf("%s: %s, which --strict does not allow", found.File, plural(len(found.Warnings), "warning"))}
	}
	if err := printServers(p.out, found.servers); err != nil {
		return err
	}
	for _, line := range found.networks {
		if _, err := fmt.Fprintln(p.out, sanitize(line)); err != nil {
			return err // the caller says what failed
		}
	}
	_, err = fmt.Fprintf(p.out, "%s: ok\n", found.File)
	return err // the caller says what failed
}

var errNotOK = errors.New("the configuration is not in order; standard output says why")

// reportJSON prints what was found as JSON.
func reportJSON(w io.Writer, found checked) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(found); err != nil {
		return err // the caller says what failed
	}
	if !found.OK {
		return &exitError{exitConfig, errNotOK}
	}
	return nil
}
