package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway/admin"
	"parley/gateway/listeners"
	"parley/gateway/settings"
)

// operator is a command that asks the gateway that runs.
type operator struct {
	program
	config string
	state  string
	json   bool
}

// adminCommand makes c a command that asks the gateway that runs. do prints what was
// answered, as JSON if that is wanted.
func adminCommand(p program, c *cobra.Command, do func(ctx context.Context, o *operator, ask *admin.Client, args []string) error) *cobra.Command {
	o := &operator{program: p}
	c.Flags().BoolVar(&o.json, "json", false, "as JSON; go doc parley/gateway/admin explains it")
	return o.bindAdmin(c, do)
}

// verdict is an error that an answer gives rise to: the answer is printed before it.
type verdict struct{ error }

// answerCommand makes c a command that asks the gateway that runs a question, and prints its
// answer: as JSON if that is wanted, else as write has it. The question may return a verdict with
// the answer; after any other error nothing is printed.
func answerCommand[T any](p program, c *cobra.Command, question func(ctx context.Context, ask *admin.Client, args []string) (T, error), write func(b *bytes.Buffer, answer T)) *cobra.Command {
	return adminCommand(p, c, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		answer, err := question(ctx, ask, args)
		if _, ok := errors.AsType[verdict](err); err != nil && !ok {
			return err
		}
		if o.json {
			return cmp.Or(o.printJSON(answer), err)
		}
		return cmp.Or(o.print(func(b *bytes.Buffer) { write(b, answer) }), err)
	})
}

// bindAdmin makes c a command that asks the gateway that runs.
func (o *operator) bindAdmin(c *cobra.Command, do func(ctx context.Context, o *operator, ask *admin.Client, args []string) error) *cobra.Command {
	f := c.Flags()
	f.StringVarP(&o.config, "config", "c", "parley.yaml", "the configuration that the gateway runs with")
	f.StringVar(&o.state, "state", "", "instead of a configuration: the gateway's state folder")
	c.MarkFlagsMutuallyExclusive("config", "state")
	if c.Args == nil {
		c.Args = cobra.NoArgs
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	if err := errors.Join(c.MarkFlagFilename("config", "yaml", "yml"), c.MarkFlagDirname("state")); err != nil {
		panic(err) // the flags are those above
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		place, err := o.paths()
		if err != nil {
			return &exitError{exitConfig, err}
		}
		ctx, stop := untilHangup(cmd.Context())
		defer stop()
		err = do(ctx, o, admin.NewClient(place.Socket), args)
		if errors.Is(err, admin.ErrNoGateway) {
			return &exitError{exitNobody, fmt.Errorf("parley: no gateway runs on %s: start it with parley run", place.StateDir)}
		}
		if errors.Is(err, admin.ErrNotYours) {
			return &exitError{exitNobody, fmt.Errorf("parley: %w", err)}
		}
		if e, ok := errors.AsType[*usageError](err); ok {
			return e // said as a mistake in the command line
		}
		if e, ok := errors.AsType[*exitError](err); ok {
			return e
		}
		if e, ok := errors.AsType[*admin.Error](err); ok && e.Kind == admin.Invalid {
			return e
		}
		return commandError(err)
	}
	return c
}

// usageError is a mistake in how the command was called.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

var errOff = errors.New("parley: admin.socket is off in the configuration, so the gateway cannot be asked")

// paths returns where the gateway is.
func (o *operator) paths() (configs.Paths, error) {
	if o.state == "" {
		place, err := configs.LoadPaths(o.config, o.getenv)
		if err == nil && place.Socket == listeners.Off {
			err = errOff
		}
		return place, err
	}
	dir, err := filepath.Abs(o.state)
	if err != nil {
		return configs.Paths{}, fmt.Errorf("parley: --state: %w", err)
	}
	return configs.Paths{StateDir: dir, Socket: settings.AdminConfig{}.Defaults(dir).Socket}, nil
}

// print prints what write writes, at once.
func (p program) print(write func(b *bytes.Buffer)) error {
	var b bytes.Buffer
	write(&b)
	_, err := p.out.Write(b.Bytes())
	return err // the caller says what failed
}

// printJSON prints v with an end of line.
func (o *operator) printJSON(v any) error {
	e := json.NewEncoder(o.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v) // the caller says what failed
}
