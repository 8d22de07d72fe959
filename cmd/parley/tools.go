package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway"
	"parley/gateway/settings"
	"parley/tools/commandline"
)

func toolsCommand(p program) *cobra.Command {
	return groupCommand("tools", "Check your own command-line tools, and call one", "",
		toolsCheckCommand(p), toolsCallCommand(p))
}

// loadTools reads the tools of a file, or, where that is "", a configuration with its tools.
func loadTools(p program, config, file string) (settings.Config, error) {
	if file == "" {
		cfg, err := configs.Load(config, p.getenv)
		if err != nil {
			return cfg, &exitError{exitConfig, err}
		}
		return cfg, nil
	}
	specs, err := configs.LoadTools(file, p.getenv)
	if err != nil {
		return settings.Config{}, &exitError{exitConfig, err}
	}
	return settings.Config{Tools: settings.ToolsConfig{File: file, Commands: specs}}.Defaults(), nil
}

func toolsCheckCommand(p program) *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say every mistake in a file of command-line tools, or list them",
		Long: `check FILE reads a file of command-line tools as tools.file of a configuration is
read, and says every mistake at once, each as file:line:column. Without a mistake it
lists the tools: the program that each runs, as it was found and with the beginning of
its SHA-256, whether it has this machine's network, and its parameters, those that may
be left out with a ?. Without FILE it takes the file that the configuration names.
Status 78 is a mistake.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := loadTools(p, config, strings.Join(args, ""))
			if err != nil {
				return err
			}
			if cfg.Tools.File == "" {
				return newUsageError("%s names no file of tools (tools.file), and no FILE is given", config)
			}
			if err := printTools(p.out, cfg.Tools.Commands); err != nil {
				return &exitError{exitFailed, fmt.Errorf("parley: list the tools: %w", err)}
			}
			_, err = fmt.Fprintf(p.out, "%s: ok, %s\n", cfg.Tools.File, plural(len(cfg.Tools.Commands), "tool"))
			return writeError(err)
		},
	}
	c.Flags().StringVarP(&config, "config", "c", "parley.yaml", "the configuration")
	return c
}

func printTools(w io.Writer, specs []commandline.Spec) error {
	t := newTable("NAME", "CATEGORY", "PROGRAM", "SHA-256", "NETWORK", "PARAMETERS")
	for _, s := range specs {
		network, program, sum := "no", s.Cmd, "-"
		switch {
		case s.Network.Whole:
			network = "yes"
		case len(s.Network.Hosts) > 0:
			network = sanitize(strings.Join(s.Network.Hosts, " "))
		}
		if s.Program.Path != "" { // else this process runs no turns
			whole, err := s.Program.Sum()
			if err != nil {
				return err // the caller says what failed
			}
			program, sum = s.Program.Path, whole[:12]
		}
		var parameters []string
		for _, q := range s.Parameters {
			name := q.Name
			if q.Optional {
				name += "?"
			}
			parameters = append(parameters, name)
		}
		t.add(s.Name, string(s.Category), sanitize(program), sum, network, strings.Join(parameters, " "))
	}
	var b bytes.Buffer
	t.print(&b)
	_, err := w.Write(b.Bytes())
	return err // the caller says what failed
}

func toolsCallCommand(p program) *cobra.Command {
	var config, file string
	var call gateway.ToolCall
	c := &cobra.Command{
		Use:   "call NAME [PARAMETER=VALUE ...]",
		Short: "Run one of your command-line tools, as an agent would",
		Long: `call checks the values and runs the tool in the sandbox, as a turn of an agent does,
and prints what the model would read. Whatever its category is, nobody is asked. Status
1 is a tool that failed; then standard error says so. --dry-run runs nothing, and
prints the program with its arguments, one on each line, and the names of the variables
that it would get.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadTools(p, config, file)
			if err != nil {
				return err
			}
			if call.Workspace != "" {
				if call.Workspace, err = filepath.Abs(call.Workspace); err != nil {
					return &exitError{exitFailed, fmt.Errorf("parley: find the workspace: %w", err)}
				}
			}
			call.Name, call.Arguments, call.Getenv = args[0], args[1:], p.getenv
			return callTool(cmd.Context(), p, cfg, call)
		},
	}
	f := c.Flags()
	f.StringVarP(&config, "config", "c", "parley.yaml", "the configuration that names the file of tools")
	f.StringVarP(&file, "file", "f", "", "the file of tools, instead of a configuration")
	f.StringVar(&call.Workspace, "workspace", "", "the folder in which it runs; default: a new one, which is removed afterwards")
	f.BoolVar(&call.DryRun, "dry-run", false, "run nothing, and say what would run")
	c.MarkFlagsMutuallyExclusive("config", "file")
	return c
}

func callTool(ctx context.Context, p program, cfg settings.Config, call gateway.ToolCall) error {
	a, err := gateway.CallTool(ctx, cfg, call)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("parley: %w", err)}
	}
	text := a.Result
	if call.DryRun {
		text = "argv:\n"
		for _, arg := range a.Command {
			text += "  " + sanitize(arg) + "\n"
		}
		text += "environment: " + strings.Join(a.Env, " ") + "\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, err := io.WriteString(p.out, text); err != nil {
		return writeError(err)
	}
	if a.Err != nil {
		return &exitError{exitFailed, fmt.Errorf("parley: %w", a.Err)}
	}
	return nil
}
