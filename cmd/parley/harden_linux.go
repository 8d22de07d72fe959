//go:build linux && !faultpoints

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// hardenProcess keeps other processes of the same user, such as a signal-cli that parses
// what strangers send, from reading this one's memory, environment and open files,
// and its secrets out of a core file. What it starts has no core file either, and is
// readable as any program is. Builds with fault points leave it out: their tests look
// into the process.
func hardenProcess() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep other processes from reading this one: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("leave no core file: %w", err)
	}
	return nil
}
