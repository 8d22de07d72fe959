package documents

import (
	"errors"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// bound takes from this process what reading a PDF does not need: processor time,
// memory, files to write.
func bound() error {
	debug.SetMemoryLimit(mostMemory / 2)
	set := func(what int, most uint64) error { return unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}) }
	return errors.Join(
		set(unix.RLIMIT_DATA, mostMemory), set(unix.RLIMIT_CPU, mostWork),
		set(unix.RLIMIT_FSIZE, 0), set(unix.RLIMIT_CORE, 0), set(unix.RLIMIT_NOFILE, 16),
	)
}
