// Signaltest is what a parley with Signal starts as processes, in tests: with keep as its
// first argument the Keeper of a signal-cli, and else a simulated signal-cli. It holds
// little, so that it starts fast.
package main

import (
	"fmt"
	"os"
	"time"

	"parley/channels/signal"
	sim "parley/simulators/signal"
)

func main() {
	if len(os.Args) < 3 || os.Args[1] != "keep" {
		os.Exit(sim.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
	}
	after, err := time.ParseDuration(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "signaltest: how long signal-cli may outlive its parley:", err)
		os.Exit(2)
	}
	os.Exit(signal.RunKeeper(after, os.Args[3:], os.Stdin, os.Stdout, os.Stderr))
}
