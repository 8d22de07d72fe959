package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/sessions"
	"parley/sessions/rules"
)

const defaultCheckSize = 64 << 20

func open(ctx context.Context, o Options) (_ *Store, err error) {
	if o.Path == "" {
		return nil, errors.New("no path is given")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("find the path: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make its directory: %w", err)
	}
	l, left, behind, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), lock: l, now: o.Now}
	s.Operations = rules.Over(database{s})
	if s.now == nil {
		s.now = time.Now
	}
	if s.checkSize = o.CheckSize; o.CheckSize == 0 {
		s.checkSize = defaultCheckSize
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.release())
		}
	}()

	fresh, err := checkFile(path, left)
	if err != nil {
		return nil, err
	}
	other := false // than the one that was closed
	switch {
	case left == leftClosed && behind != "":
		now, err := fileChecksum(path, s.checkSize)
		if err != nil {
			return nil, err
		}
		other = now != behind
	case left == leftRunning && behind != "":
		if err := checkAnswered(ctx, path, behind); err != nil {
			return nil, err
		}
	}
	if fresh {
		if err := l.mark(leftMaking); err != nil {
			return nil, err
		}
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	c, err := connect(path, url.Values{"_pragma": {
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "wal_autocheckpoint(4000)",
		"cache_size(-16000)", "temp_store(MEMORY)",
		"secure_delete(1)", // at all times: what a page leaves behind when it is split is not found later
	}}, o.Trace)
	if err != nil {
		err = explain(err)
		return nil, errors.Join(err, s.markDamaged(err, left))
	}
	s.records = newRecordCache()
	s.readers = newPool(path, o.Trace)
	s.directory, s.ledger, s.archive = directory{s.readers}, ledger{s.readers}, archive{s.readers}
	highest, commits, early, err := s.ready(ctx, c, left, other)
	if err == nil {
		err = l.markRunning(commits)
	}
	if err != nil {
		return nil, errors.Join(err, s.readers.close(), c.close(), s.markDamaged(err, left))
	}
	s.w = newWriter(c, l, highest, commits, early, &s.chats, s.records, o.Linger)
	return s, nil
}

// markDamaged keeps an opening that found damage from looking like an orderly
// end: SQLite merged the log, so that the next opening, which must find the same,
// would miss it.
func (s *Store) markDamaged(err error, left string) error {
	if _, gone := os.Stat(s.path + "-wal"); left == leftRunning && errors.Is(err, sessions.ErrDamaged) && errors.Is(gone, os.ErrNotExist) {
		return s.lock.mark(leftClosed + " damaged") // a seal that no file has
	}
	return nil
}

// checkIfNeeded is Check where there is reason for it and the file is not too
// large. What makes no history shorter is only said: nobody is served by a
// gateway that does not start because of a sum.
func (s *Store) checkIfNeeded(ctx context.Context, left string, other bool) error {
	if left != leftRunning && !other {
		return nil
	}
	st, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if st.Size() > s.checkSize {
		return nil
	}
	broken, wrong, err := s.findDamage(ctx)
	if err != nil {
		return readError(s.path, "look through it", err)
	}
	if len(broken) > 0 {
		return damaged(s.path, "%s", strings.Join(append(broken, wrong...), "; "))
	}
	for _, w := range wrong {
		s.log.ErrorContext(ctx, "database inconsistent; restore a backup if there is one", "path", s.path, "problem", w)
	}
	if other {
		s.log.WarnContext(ctx, "database changed or replaced since its last use; its histories are intact", "path", s.path)
	}
	return nil
}

// ready checks and migrates the database, before anybody uses it.
func (s *Store) ready(ctx context.Context, conn *conn, left string, other bool) (highest, commits int64, early map[string]bool, err error) {
	if left == leftRunning {
		s.log.InfoContext(ctx, "database not closed after its last use, recovering", "path", s.path)
	}
	if err := checkIdentity(ctx, conn, s.path); err != nil {
		return 0, 0, nil, err
	}
	if left == leftRunning {
		if err := checkStructure(ctx, conn, s.path, s.checkSize); err != nil {
			return 0, 0, nil, err
		}
	}
	if err := migrate(ctx, conn, s.path, s.now()); err != nil {
		return 0, 0, nil, err
	}
	if err := s.checkIfNeeded(ctx, left, other); err != nil {
		return 0, 0, nil, err
	}
	// Whoever had the file before this process has ended, whatever its lease says.
	if _, err := conn.exec("UPDATE workers SET until = 0 WHERE until > 0"); err != nil {
		return 0, 0, nil, fmt.Errorf("end the leases of earlier processes: %w", explain(err))
	}
	if _, err := conn.queryRow(ctx, "SELECT highest, commits FROM generation", nil, &highest, &commits); err != nil {
		return 0, 0, nil, readError(s.path, "read its generation", err)
	}
	var some bool
	if _, err := conn.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM moves) OR EXISTS (SELECT 1 FROM shut)", nil, &some); err != nil {
		return 0, 0, nil, readError(s.path, "read its chats", err)
	}
	s.chats.Store(some)
	early = map[string]bool{}
	err = conn.queryRows(ctx, "SELECT turn FROM reservations WHERE state = 'open'", nil, func(r scanner) error {
		var turn string
		err := r.Scan(&turn)
		early[turn] = true
		return err
	})
	if err != nil {
		return 0, 0, nil, readError(s.path, "read its open calls", err)
	}
	return highest, commits, early, nil
}

// prepareFile makes the file, because SQLite gives those beside it the same
// mode, and takes it away from everybody but its owner.
func prepareFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make it: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return fmt.Errorf("take it away from others: %w", err)
		}
	}
	return nil
}
