package documents

import (
	"errors"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// limitProcess takes from this process what reading a PDF does not need: processor time,
// memory, files to write.
func limitProcess() error {
	debug.SetMemoryLimit(maxMemory / 2)
	set := func(what int, limit uint64) error { return unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}) }
	return errors.Join(
		set(unix.RLIMIT_DATA, maxMemory), set(unix.RLIMIT_CPU, maxWork),
		set(unix.RLIMIT_FSIZE, 0), set(unix.RLIMIT_CORE, 0), set(unix.RLIMIT_NOFILE, 16),
	)
}
