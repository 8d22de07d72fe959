package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The linker sets these where the build does not know them from version
// control: -X main.release=v1.2.3 -X main.revision=0123abc.
var (
	release  string
	revision string
)

func versionCommand(p program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which parley this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				v := map[string]string{"version": version(), "revision": buildCommit(), "go": runtime.Version()}
				return runError(cmd.Context(), json.NewEncoder(p.out).Encode(v))
			}
			return printVersion(cmd.Context(), p)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// printVersion says for people which parley this is.
func printVersion(ctx context.Context, p program) error {
	_, err := fmt.Fprintf(p.out, "parley %s (revision %s, %s)\n", version(), buildCommit(), runtime.Version())
	return runError(ctx, err)
}

// version returns what the build was made from; "dev" when nobody said.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && release == "" && b.Main.Version != "(devel)" {
		return cmp.Or(b.Main.Version, "dev")
	}
	return cmp.Or(release, "dev")
}

// buildCommit returns the commit.
func buildCommit() string {
	if b, ok := debug.ReadBuildInfo(); ok && revision == "" {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return cmp.Or(revision, "unknown")
}
