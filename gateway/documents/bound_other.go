//go:build !linux

package documents

import "runtime/debug"

// bound is all that can be asked here: the clock of the process that waits does the
// rest.
func bound() error {
	debug.SetMemoryLimit(mostMemory / 2)
	return nil
}
