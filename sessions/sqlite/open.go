package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
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
			err = errors.Join(err, s.abandon())
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
	if s.writes, err = connect(path, "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=foreign_keys(1)", "_pragma=wal_autocheckpoint(2000)"); err != nil {
		return nil, err
	}
	s.writes.SetMaxOpenConns(1)
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return nil, explain(err)
	}
	highest, err := s.ready(ctx, conn, o, left)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	reads, err := connect(path, "mode=ro", "_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s.readers = newPool(reads)
	if err := l.mark(leftRunning); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s.w = newWriter(conn, highest)
	return s, nil
}

// ready checks and migrates the database, before anybody uses it.
func (s *Store) ready(ctx context.Context, conn *sql.Conn, o Options, left string) (highest int64, err error) {
	if left == leftRunning {
		s.log.InfoContext(ctx, "the database was not closed at its last use; recovering", "path", s.path)
	}
	if err := checkIdentity(ctx, conn, s.path); err != nil {
		return 0, err
	}
	if left == leftRunning {
		if err := checkStructure(ctx, conn, s.path, o.CheckSize); err != nil {
			return 0, err
		}
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	if err := migrate(ctx, conn, s.path, now()); err != nil {
		return 0, err
	}
	if err := conn.QueryRowContext(ctx, "SELECT highest FROM generation").Scan(&highest); err != nil {
		return 0, damaged(s.path, "read its generation: %w", err)
	}
	return highest, nil
}

// abandon undoes a failed opening.
func (s *Store) abandon() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.writes != nil {
		errs = append(errs, s.writes.Close())
	}
	return errors.Join(append(errs, s.lock.release())...)
}

func connect(path string, params ...string) (*sql.DB, error) {
	q := url.Values{"_busy_timeout": {"5000"}, "_dqs": {"0"}}
	for _, p := range params {
		v, err := url.ParseQuery(p)
		if err != nil {
			return nil, fmt.Errorf("connection parameter %s: %w", p, err)
		}
		for k := range v {
			q.Add(k, v.Get(k))
		}
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return db, nil
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
