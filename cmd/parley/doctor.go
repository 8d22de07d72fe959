package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/findings"
	"parley/gateway"
	"parley/gateway/admin"
	"parley/gateway/doctor"
	"parley/gateway/listeners"
	"parley/gateway/settings"
)

// exitProblem is how doctor ends when it has found an error; warnings alone are exitFailed.
const exitProblem = 2

// examined is what doctor found, as JSON.
type examined struct {
	At       time.Time          `json:"at"`
	Version  string             `json:"version"`
	Worst    findings.Severity  `json:"worst"`
	Findings []findings.Finding `json:"findings"`
}

func doctorCommand(p program) *cobra.Command {
	var file string
	var roles []string
	var asJSON, noModels, noServers, all bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine what a gateway stands on, and say what is wrong and how it is mended",
		Long: `doctor looks at the state folder, the disk, the accounts of the bots, the models, the message
log, the store, the sandbox, MCP servers, the clock, and at who can reach what. It changes nothing,
and calls no model: providers are asked for their lists of models, which costs nothing. MCP servers
are connected to, unless a gateway runs that knows how they are. It may run beside the gateway, as
the same user. Each finding has an id that docs/doctor.md explains.

It ends with 0 when all is well, with 1 when there are warnings, with 2 when there are errors,
and with 78 when the configuration has mistakes, which it says as check-config does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("role") && len(roles) == 0 {
				return errNoRole
			}
			found, err := check(p, file, roles)
			if err != nil {
				return report(p, found, err)
			}
			r, err := examine(cmd.Context(), p, file, roles, found, gateway.Examination{NoModels: noModels, NoServers: noServers})
			if err != nil {
				return err
			}
			if asJSON {
				err = printExaminedJSON(p.out, r)
			} else {
				err = printExamined(p.out, r, all)
			}
			if err != nil {
				return runError(cmd.Context(), err)
			}
			return verdictOf(r)
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "config", "c", "parley.yaml", "the configuration of the gateway")
	f.StringSliceVar(&roles, "role", nil, roleUsage)
	completeFlag(c, "role", settings.RoleGateway, settings.RoleWorker, settings.RoleGateway+","+settings.RoleWorker)
	f.BoolVar(&noModels, "no-models", false, "ask no provider of models")
	f.BoolVar(&noServers, "no-mcp", false, "ask no MCP server, and start the program of none")
	f.BoolVar(&all, "all", false, "explain also what is fine")
	f.BoolVar(&asJSON, "json", false, "as JSON: at, version, worst, findings; each finding with id, severity, meaning, fix, subject and detail")
	return c
}

func examine(ctx context.Context, p program, file string, roles []string, found checked, e gateway.Examination) (examined, error) {
	r := examined{At: time.Now().UTC(), Version: version()}
	g, err := buildGateway(p, file, roles, func(settings.LogConfig, slog.Leveler) *slog.Logger { return slog.New(slog.DiscardHandler) })
	if err != nil {
		return r, &exitError{exitConfig, err}
	}
	for _, w := range found.Warnings {
		e.Warnings = append(e.Warnings, w.Path+": "+w.Message)
	}
	place, err := configs.LoadPaths(file, p.getenv)
	if err != nil {
		return r, &exitError{exitConfig, err}
	}
	if place.Socket != listeners.Off {
		e.Running = func(ctx context.Context) (*doctor.Running, error) { return askRunning(ctx, place.Socket) }
	}
	r.Findings, err = g.Examine(ctx, e)
	if ctx.Err() != nil { // what was cut off is no finding
		return r, commandError(context.Cause(ctx))
	}
	r.Worst = findings.Worst(r.Findings)
	return r, commandError(err)
}

// askRunning asks the gateway that runs how it is; nil: none does.
func askRunning(ctx context.Context, socket string) (*doctor.Running, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	st, err := admin.NewClient(socket).Status(ctx)
	if errors.Is(err, admin.ErrNoGateway) {
		return nil, nil // as the comment says
	}
	if err != nil {
		return nil, err // it names what was asked
	}
	r := &doctor.Running{PID: st.PID, Version: st.Version, Problems: st.Problems, Servers: st.MCP}
	if b := st.Sandbox; b != nil {
		r.Sandbox = &doctor.Sandbox{Level: b.Level, Backend: b.Backend, Usable: b.Usable, Reasons: b.Reasons, Missing: b.Missing, LimitsOfRuns: b.LimitsOfRuns, LimitsReason: b.LimitsReason}
		if !b.Confines {
			r.Sandbox.Unconfined = admin.ReachingTools(b.Hosts)
		}
	}
	return r, nil
}

func printExaminedJSON(w io.Writer, r examined) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r) // the caller says what failed
}

// printExamined prints a line for each finding, and below what is not fine what it means and how it
// is mended.
func printExamined(w io.Writer, r examined, all bool) error {
	var b bytes.Buffer
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(&b, "%-8s %-20s %s: %s\n", f.Severity, f.ID, sanitize(f.Subject), sanitize(f.Detail))
		if f.Severity == findings.Fine && !all {
			continue
		}
		_, _ = fmt.Fprintf(&b, "         %s\n", f.Meaning)
		if f.Fix != "" {
			_, _ = fmt.Fprintf(&b, "         To mend it: %s\n", f.Fix)
		}
	}
	_, err := w.Write(b.Bytes())
	return err // the caller says what failed
}

// verdictOf returns how doctor ends.
func verdictOf(r examined) error {
	problems, warned := 0, 0
	for _, f := range r.Findings {
		switch f.Severity {
		case findings.Problem:
			problems++
		case findings.Warning:
			warned++
		}
	}
	text := fmt.Errorf("parley: doctor found %s and %s", plural(problems, "error"), plural(warned, "warning")) // for the operator
	switch {
	case problems > 0:
		return &exitError{exitProblem, text}
	case warned > 0:
		return &exitError{exitFailed, text}
	}
	return nil
}
