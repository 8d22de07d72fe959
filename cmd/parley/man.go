package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the man pages of all commands, for who builds a package.
func manCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write a man page for each command",
		Long: `man writes a man page for each command into a folder, which must exist. Pages have
the date of SOURCE_DATE_EPOCH, in seconds since 1970, or else of today.`,
		Hidden: true, // packages have the pages
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := pageDate(p.getenv)
			if err != nil {
				return newUsageError("%w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "parley " + version(), Manual: "parley", Date: &date}
			return runError(cmd.Context(), doc.GenManTree(root, header, args[0]))
		},
	}
}

// pageDate returns the date of the pages.
func pageDate(getenv func(string) (string, bool)) (time.Time, error) {
	epoch, _ := getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch) // for the operator
	}
	return time.Unix(seconds, 0).UTC(), nil
}
