package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func newUsageError(format string, a ...any) error { return &usageError{fmt.Errorf(format, a...)} }

// checkOneOf wants value to be one of those that a flag takes.
func checkOneOf(flag, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return newUsageError("%s %q is none of %s", flag, value, strings.Join(known, ", "))
}

// parseSince reads how far back somebody looks: a duration, days, a day in UTC, or a
// time; nothing is the beginning.
func parseSince(now time.Time, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, newUsageError("--since %q is neither a duration as 24h or 7d, nor a day as 2026-01-01", text)
}

// parseUntil reads a bound as parseSince does; nothing, or now, is none.
func parseUntil(now time.Time, text string) (time.Time, error) {
	if text == "now" {
		return time.Time{}, nil
	}
	t, err := parseSince(now, text)
	if err != nil {
		return t, newUsageError("--until %q is neither a duration as 24h or 7d, nor a day as 2026-01-01, nor now", text)
	}
	return t, nil
}

// completeFlag offers the values of a flag to shells.
func completeFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there, and has no other completion
	}
}

// completeWith offers to shells, for the first argument of a command, what list has of the gateway
// that runs; nothing when none can be asked.
func completeWith(p program, list func(ctx context.Context, ask *admin.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		o := &operator{program: p}
		var err error
		if o.config, err = cmd.Flags().GetString("config"); err != nil || len(args) > 0 {
			return nil, none
		}
		if o.state, err = cmd.Flags().GetString("state"); err != nil {
			return nil, none
		}
		place, err := o.paths()
		if err != nil {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		words, err := list(ctx, admin.NewClient(place.Socket))
		if err != nil {
			return nil, none
		}
		return words, none
	}
}
