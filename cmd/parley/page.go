package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func pageCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "page",
		Short: "Say where the operator page is, and give a code to log in there",
		Long: `page gives the address of the operator page (page.enabled in the configuration), and a
code with which you log in there. A code works once, and for five minutes. Whoever has it
is you: what is done then is recorded under your user id.`,
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.PageCode, error) {
		return ask.PageCode(ctx)
	}, func(b *bytes.Buffer, c admin.PageCode) {
		fmt.Fprintf(b, "%s\ncode  %s   (once, until %s)\n", sanitize(c.URL), c.Code, formatTime(c.Until))
	})
}
