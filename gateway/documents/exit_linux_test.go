package documents_test

import "syscall"

// exit ends the process at once. os.Exit lets the race detector sleep for a second, and
// the setting that forbids it is not in the environment of an extractor.
func exit(status int) { _, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0) }
