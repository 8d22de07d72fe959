package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"parley/gateway"
)

const keepSignalCLI = "keep-signal-cli"

// signalKeeper is this program as what keeps signal-cli for a gateway.
func signalKeeper() []string {
	self, err := os.Executable()
	if err != nil { // there is no /proc
		return nil
	}
	return []string{self, keepSignalCLI}
}

var errKept = errors.New("signal-cli has ended")

// keepCommand runs signal-cli for the gateway that started it, and ends it when that
// was killed. Its arguments are the command of signal-cli.
func keepCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use: keepSignalCLI, Hidden: true, DisableFlagParsing: true,
		Short: "Run signal-cli for a gateway, and end it after the gateway",
		RunE: func(_ *cobra.Command, args []string) error {
			if status := gateway.KeepProgram(args, p.in, p.out, p.err); status != exitOK {
				return &exitError{status, errKept}
			}
			return nil
		},
	}
}
