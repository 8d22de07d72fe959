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
	"time"
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
	l, left, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), lock: l}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.release())
		}
	}()

	fresh, err := checkFile(path, left)
	if err != nil {
		return nil, err
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
	}})
	if err != nil {
		return nil, explain(err)
	}
	highest, early, err := s.ready(ctx, c, o, left)
	if err == nil {
		err = l.mark(leftRunning)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	s.readers = newPool(path)
	s.w = newWriter(c, highest, early)
	return s, nil
}

// ready checks and migrates the database, before anybody uses it.
func (s *Store) ready(ctx context.Context, conn *conn, o Options, left string) (highest int64, early map[string]bool, err error) {
	if left == leftRunning {
		s.log.InfoContext(ctx, "the database was not closed at its last use; recovering", "path", s.path)
	}
	if err := checkIdentity(ctx, conn, s.path); err != nil {
		return 0, nil, err
	}
	if left == leftRunning {
		if err := checkStructure(ctx, conn, s.path, o.CheckSize); err != nil {
			return 0, nil, err
		}
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	if err := migrate(ctx, conn, s.path, now()); err != nil {
		return 0, nil, err
	}
	if _, err := conn.first(ctx, "SELECT highest FROM generation", nil, &highest); err != nil {
		return 0, nil, damaged(s.path, "read its generation: %w", err)
	}
	early = map[string]bool{}
	err = conn.rows(ctx, "SELECT turn FROM reservations WHERE state = 'open'", nil, func(r scanner) error {
		var turn string
		err := r.Scan(&turn)
		early[turn] = true
		return err
	})
	if err != nil {
		return 0, nil, damaged(s.path, "read its open calls: %w", err)
	}
	return highest, early, nil
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
