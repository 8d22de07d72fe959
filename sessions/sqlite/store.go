// Package sqlite keeps sessions in one SQLite file.
//
// One process owns the file; a second one is refused. One goroutine writes:
// whatever waits for it is done in one transaction and one fsync. A write that is
// refused takes nobody else with it. The writer remembers the rows that it used
// lately: nobody else changes them.
// Reads run on connections of their own, beside the writer, and see everything
// that was answered before they began.
//
// Commits are synchronous=FULL in WAL mode: what was answered survives a crash
// of the process, of the system and a power cut, as long as the disk honours
// fsync. What is noticed when the file was damaged, and when:
//
//   - at every opening: no database, another program's, a newer version, a file
//     that is shorter than it says, or that is missing or empty although it was
//     used before;
//   - at an opening after an unclean end, besides: a log (-wal) that is missing, or
//     is cut off or broken so that commits that were answered are not in it; and, up
//     to [Options.CheckSize], all that Check finds. How many were answered stands in
//     the lock file, which is not synced: after a power cut the commits of the last
//     seconds may be missing there, and damage to them is not noticed;
//   - at an opening of a file that is not as Close left it, up to the same size:
//     the same; where nothing is found that is only said, since it may be a backup;
//   - when a history is read: a message that is missing or changed;
//   - by [Store.Check]: all of it, and every sum.
package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"parley/sessions"
	"parley/sessions/rules"
)

// errClosed is what a store answers after Close.
var errClosed = errors.New("the store is closed")

// Options sets where the database is.
type Options struct {
	// Path of the file. It and its directory are made when they are missing,
	// readable by their owner only. Beside it stand <path>-wal and <path>-shm
	// while it is open, which belong to it, and <path>.lock, which says who has
	// it open and how it was left.
	Path string
	// Log hears of recovery and of slow or failed housekeeping; nil: nobody.
	Log *slog.Logger
	// CheckSize is the size in bytes up to which the whole file is read at closing,
	// at opening, and looked through at an opening after an unclean end; 0: 64 MiB;
	// negative: never.
	CheckSize int64
	// Now returns the clock for what no caller gives a time for: when a migration
	// ran, and what Clock answers. nil: time.Now.
	Now func() time.Time
	// Linger is how long a commit waits for what somebody does who goes on already with what is
	// in it, see [rules.EarlyDriver]; 0: 5 ms.
	Linger time.Duration
	// Trace is called with the text of each statement before it runs, without its values; by
	// several goroutines at once. It must not block, nor call the store. nil: nobody counts.
	Trace func(query string)
}

// Store is a [sessions.Store] in one file.
type Store struct {
	rules.Operations
	directory
	ledger
	archive

	path string
	log  *slog.Logger

	lock      *lock
	checkSize int64
	readers   *pool
	records   *recordCache
	w         *writer
	chats     atomic.Bool // some chat moved or was shut; never false again
	now       func() time.Time

	closing sync.Once
	closed  error
}

// What only reads stands in parts of its own.
type (
	// directory finds and lists what there is.
	directory struct{ *pool }
	// ledger is what calls cost, and its sums.
	ledger struct{ *pool }
	// archive is what was said, asked and answered.
	archive struct{ *pool }
)

var _ sessions.Store = (*Store)(nil)

// Open opens the database, making or migrating it when needed, and starts the
// goroutine that writes; Close ends it and waits. (It is the one exception to
// the rule that constructors start nothing: a store without its writer is of no
// use to anybody.) ctx bounds the opening alone.
//
// A database that cannot be trusted is [sessions.ErrDamaged], with its path and
// what to do; nothing in it was changed.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o)
	return s, rules.While(err, "open the database %s", o.Path)
}

// Close performs what is still waiting, and leaves the file so that the next
// opening is quick. Calls after it return an error. It may be called twice.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.w.stop()
		err := errors.Join(s.readers.close(), s.w.close())
		if _, e := os.Stat(s.path + "-wal"); err == nil && e == nil {
			// As on a full disk. The next opening then looks through the log.
			s.log.Warn("database closed without merging its write-ahead log", "path", s.path)
		} else if err == nil {
			err = s.markClosed()
		}
		s.closed = errors.Join(err, s.lock.release())
	})
	return s.closed
}

func (s *Store) markClosed() error {
	seal, err := fileChecksum(s.path, s.checkSize)
	if err != nil {
		return err
	}
	return s.lock.mark(leftClosed + " " + seal)
}

// Path returns where the file is.
func (s *Store) Path() string { return s.path }
