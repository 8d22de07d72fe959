package sqlite

import (
	"os"
	"syscall"
)

// DupLock is another descriptor of the open lock file.
func (s *Store) DupLock() (*os.File, error) {
	fd, err := syscall.Dup(int(s.lock.f.Fd()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "lock"), nil
}

// Work is how many statements the writer of a closed store has run, and how
// many transactions it committed.
func (s *Store) Work() (statements, commits int64) {
	<-s.w.done
	return s.w.tx.conn.ran, s.w.tx.commits
}
