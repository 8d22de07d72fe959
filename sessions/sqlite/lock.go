package sqlite

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"syscall"

	"parley/sessions/rules"
)

// How the last process left the database, as its lock file says.
const (
	leftUnknown = ""        // no lock file: new, or brought here from elsewhere
	leftMaking  = "making"  // it ended while the database was being made
	leftRunning = "running" // it ended without Close; behind it stands how many commits were answered
	leftClosed  = "closed"  // by Close; behind it stands what the file was then, see fileChecksum
)

// lock is <path>.lock: held with flock(2) for as long as the store is open, so
// that the system frees it however the process ends. Its text says how the
// database was left.
type lock struct{ f *os.File }

// takeLock returns an error when another process holds it. left is how the
// database was left, and behind what was written behind it.
func takeLock(path string) (l *lock, left, behind string, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, "", "", fmt.Errorf("open the lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, "", "", errors.New("another process has it open (it holds " + path +
				"): one process owns a SQLite database; end the other one")
		}
		return nil, "", "", fmt.Errorf("lock %s: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, 128))
	if err != nil {
		_ = f.Close()
		return nil, "", "", fmt.Errorf("read the lock file: %w", err)
	}
	left, behind, _ = strings.Cut(string(text), " ")
	return &lock{f}, left, behind, nil
}

// mark writes down how the database would be left if the process ended now.
func (l *lock) mark(left string) error {
	if _, err := l.f.WriteAt([]byte(left), 0); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	if err := l.f.Truncate(int64(len(left))); err != nil {
		return fmt.Errorf("cut the lock file: %w", err)
	}
	return rules.While(l.f.Sync(), "sync the lock file")
}

// markRunning is mark of a database that was opened, with the commits that it has.
func (l *lock) markRunning(commits int64) error {
	return l.mark(leftRunning + " " + commitsText(commits))
}

// noteCommits writes down, over what stood there, how many commits are about to be
// answered. It is not synced: a crash of the process leaves it, after one of the system
// it may be lower than it was, and never higher than what the database has.
func (l *lock) noteCommits(commits int64) error {
	if _, err := l.f.WriteAt([]byte(commitsText(commits)), int64(len(leftRunning)+1)); err != nil {
		return fmt.Errorf("note in the lock file how often it was committed: %w", err)
	}
	return nil
}

// commitsText always has the same length.
func commitsText(commits int64) string { return fmt.Sprintf("%020d", commits) }

// release unlocks before it closes: a process that is being started at this
// moment has a copy of the file until it runs, and closing would leave that one
// locked.
func (l *lock) release() error {
	err := syscall.Flock(int(l.f.Fd()), syscall.LOCK_UN)
	return errors.Join(err, l.f.Close())
}

// wasUsed reports whether there must be a database.
func wasUsed(left string) bool {
	return left == leftRunning || left == leftClosed
}

// fileChecksum is what a file holds, in a few characters: SQLite itself has no
// checksums of what it keeps, so a flipped bit in a closed file would be noticed
// late or never. Files above most bytes have none; most below 0 means no file has.
func fileChecksum(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("look at it: %w", err)
	}
	if st.Size() > limit {
		return "", nil
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	return fmt.Sprintf("%d bytes %08x", st.Size(), sum.Sum32()), nil
}
