package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"parley/gateway/recording"
	"parley/replay"
)

// errDifferent ends the command after its report.
var errDifferent = errors.New("parley: the replay is different from the recording")

func replayCommand(p program) *cobra.Command {
	prices := "recorded"
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run an exported session again, offline, and say what is different",
		Long: `replay takes a file that parley sessions export wrote and runs the session again
with this program: the same messages come, models give the recorded answers, tools
the recorded results. Nothing is sent, no model is asked, no tool runs, and no
gateway is touched. It says what differs in requests, calls of tools, replies and
costs: "-" is what was, "+" what is now.

It ends with 0 when nothing differs, 1 when something does, and 2 when the file
cannot be read or replayed. go doc parley/replay says what is compared.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOneOf("--prices", prices, "recorded", "current"); err != nil {
				return err
			}
			report, err := replayFile(cmd.Context(), args[0], prices == "current")
			if err == nil {
				err = report.Print(p.out)
			}
			if err != nil {
				return &exitError{exitUsage, fmt.Errorf("parley: %w", err)}
			}
			if !report.Same() {
				return &exitError{exitFailed, errDifferent}
			}
			return nil
		},
	}
	c.Flags().StringVar(&prices, "prices", prices, "what calls cost: recorded, or current for this program's list")
	completeFlag(c, "prices", "recorded", "current")
	return c
}

func replayFile(ctx context.Context, name string, current bool) (_ *replay.Report, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err // it names the file
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := recording.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	report, err := replay.Run(ctx, r, replay.Options{Current: current})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return report, nil
}
