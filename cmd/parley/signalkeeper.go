package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"parley/channels/signal"
)

const keepSignalCLI = "keep-signal-cli"

// keepGrace is how long signal-cli may go on after the gateway that started it was killed.
const keepGrace = 10 * time.Second

// signalKeeper is this program as what keeps signal-cli for a gateway.
func signalKeeper() []string {
	self, err := os.Executable()
	if err != nil { // there is no /proc
		return nil
	}
	return []string{self, keepSignalCLI}
}

var errKept = errors.New("signal-cli has ended")

// keeperCommand runs signal-cli for the gateway that started it, and ends it when that
// was killed. Its arguments are the command of signal-cli.
func keeperCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use: keepSignalCLI, Hidden: true, DisableFlagParsing: true,
		Short: "Run signal-cli for a gateway, and end it after the gateway",
		RunE: func(_ *cobra.Command, args []string) error {
			if status := signal.RunKeeper(keepGrace, args, p.in, p.out, p.err); status != exitOK {
				return &exitError{status, errKept}
			}
			return nil
		},
	}
}
