package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func reloadCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "reload",
		Short: "Have the gateway that runs read its configuration again",
		Long: `reload has the gateway that runs read its configuration again, with the files of
prices, instructions, skills and tools that it names. What is new holds for messages and
turns that begin later; a turn that runs ends as it began. It prints what changed
and what needs a restart, which stays as it was until then.

With any mistake nothing changes: it prints all of them as check-config does, and
ends with 78. With 69 it ends when no gateway runs there.`,
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.Reloaded, error) {
		r, err := ask.Reload(ctx)
		if e, ok := errors.AsType[*admin.Error](err); ok && e.Kind == admin.BadConfig {
			err = &exitError{exitConfig, e}
		}
		return r, err
	}, func(b *bytes.Buffer, r admin.Reloaded) {
		if len(r.Changed)+len(r.NeedRestart) == 0 {
			b.WriteString("reloaded: nothing has changed\n")
		}
		for _, path := range r.Changed {
			fmt.Fprintf(b, "reloaded: %s\n", sanitize(path))
		}
		for _, path := range r.NeedRestart {
			fmt.Fprintf(b, "needs a restart: %s\n", sanitize(path))
		}
	})
}
