package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func importSessionCommand(p program) *cobra.Command {
	var into string
	c := answerCommand(p, &cobra.Command{
		Use:   "import FILE",
		Short: "Make a session of an exported one, to go on with in chat",
		Long: `import takes a file that parley sessions export wrote and makes a session of all
that was said in it. It belongs to the conversation that was exported, or with --into
to the one that another session is of: whoever is there can go on with it, and
nothing changes for them before somebody does, by the command that import prints.

The new session has cost nothing yet: what the old one has cost stays with it. Files
that people sent are not in an export.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, ask *admin.Client, args []string) (made admin.Restored, err error) {
		f, err := os.Open(args[0])
		if err != nil {
			return made, err
		}
		defer func() { _ = f.Close() }()
		if made, err = ask.Import(ctx, f, into); err != nil {
			err = fmt.Errorf("%s: %w", args[0], err)
		}
		return made, err
	}, func(b *bytes.Buffer, made admin.Restored) {
		title := ""
		if made.Title != "" {
			title = fmt.Sprintf(" (%s)", sanitize(made.Title))
		}
		fmt.Fprintf(b, "session %s%s has %s, in %s.\nTo go on with it, write there: /resume %s\n",
			made.Session, title, plural(made.Messages, "message"), sanitize(made.Key), made.Session)
	})
	c.Flags().StringVar(&into, "into", "", "a session of the conversation that it is for, or as much of its id as no other has; the one that was exported, if not given")
	if err := c.RegisterFlagCompletionFunc("into", completeSessions(p)); err != nil {
		panic(err) // the flag is the one above
	}
	return c
}
