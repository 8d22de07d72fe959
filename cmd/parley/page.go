package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func pageCommand(p program) *cobra.Command {
	return adminCommand(p, &cobra.Command{
		Use:   "page",
		Short: "Say where the operator page is, and give a code to log in there",
		Long: `page gives the address of the operator page (page.enabled in the configuration), and a
code with which you log in there. A code works once, and for five minutes. Whoever has it
is you: what is done then is recorded under your user id.`,
	}, func(ctx context.Context, o *operator, ask *admin.Client, _ []string) error {
		c, err := ask.PageCode(ctx)
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		if o.json {
			return o.printJSON(c)
		}
		_, err = fmt.Fprintf(o.out, "%s\ncode  %s   (once, until %s)\n", sanitize(c.URL), c.Code, formatTime(c.Until))
		return err //nolint:wrapcheck // the caller says what failed
	})
}
