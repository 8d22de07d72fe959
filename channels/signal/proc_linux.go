package signal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// awaitEnd waits until a child has ended and leaves it, so that its number, and
// that of its group, are nobody else's yet.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err // only its presence matters
		}
	}
}

// lockHolders are the processes that have the file open under the number that the
// daemon gets it by.
func lockHolders(lock string) ([]int, error) {
	info, err := os.Stat(lock)
	if err != nil {
		return nil, fmt.Errorf("look at the daemon's lock: %w", err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/fd/" + strconv.Itoa(lockFD))
	if err != nil {
		return nil, fmt.Errorf("look for a daemon that was left: %w", err)
	}
	var out []int
	for _, path := range all {
		theirs, err := os.Stat(path)
		if err != nil || !os.SameFile(info, theirs) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err == nil && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out, nil
}

// punchHole gives the beginning of a file back to the disk; its size stays.
func punchHole(path string, upTo int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err // it names the file
	}
	defer func() { _ = f.Close() }()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, upTo); err != nil {
		return fmt.Errorf("give back a part of %s: %w", path, err)
	}
	return nil
}
