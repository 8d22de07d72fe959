//go:build !linux

package documents

import "runtime/debug"

// limitProcess is all that can be asked here: the clock of the process that waits does the
// rest.
func limitProcess() error {
	debug.SetMemoryLimit(maxMemory / 2)
	return nil
}
