package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"parley/sessions"
	"parley/sessions/rules"

	sqlite "modernc.org/sqlite"
)

// Copy describes a copy of the database.
type Copy struct {
	Schema     int    // the version of its tables
	Generation string // of the message log that it knows
	Highest    uint64 // place in that log
}

// Schema returns the version of the tables that this program makes and knows; it migrates
// lower ones.
func Schema() (int, error) {
	steps, err := migrations()
	return len(steps), err
}

// CopyTo writes the database as it is at one moment to a new file at path, readable by its
// owner only, while it is used: all that was answered before, and no half of a commit. It
// takes as much room as the database. It cannot be interrupted. After an error there is no file.
func (s *Store) CopyTo(ctx context.Context, path string) (c Copy, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return c, fmt.Errorf("copy the database: %w", err)
	}
	if err = f.Close(); err == nil {
		err = s.copyPages(path)
	}
	if err == nil {
		c, err = describe(ctx, path)
	}
	if err != nil {
		return c, errors.Join(fmt.Errorf("copy the database: %w", explain(err)), os.Remove(path))
	}
	return c, nil
}

// copyPages copies page by page, in one read: each row keeps its place, and what writers do
// meanwhile stays in the log (-wal) until the read ends.
func (s *Store) copyPages(path string) error {
	c, err := connect(s.path, url.Values{"mode": {"ro"}}, nil)
	if err != nil {
		return err
	}
	source, ok := c.Conn.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.Join(errors.New("the driver cannot"), c.close())
	}
	to := url.URL{Scheme: "file", OmitHost: true, Path: path}
	b, err := source.NewBackup(to.String())
	if err != nil {
		return errors.Join(err, c.close())
	}
	more, err := b.Step(-1)
	if err == nil && more {
		err = errors.New("it was not copied to its end")
	}
	return errors.Join(err, b.Finish(), c.close())
}

// describe reads a copy that nobody changes.
func describe(ctx context.Context, path string) (d Copy, err error) {
	c, err := connect(path, url.Values{"mode": {"ro"}, "immutable": {"1"}}, nil)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if d.Schema, err = schemaVersion(ctx, c); err != nil {
		return d, err
	}
	_, err = c.queryRow(ctx, "SELECT name, highest FROM generation", nil, &d.Generation, &d.Highest)
	return d, err
}

// Adopt makes a copy, which was just restored, ready to be used: it must add up, as Check has
// it, and know no other log than that of generation. What came in up to the place through may
// have been answered after the copy was made; see [Store.Distrust].
func (s *Store) Adopt(ctx context.Context, generation string, through uint64) error {
	if err := s.Check(ctx); err != nil {
		return err
	}
	known, highest, err := s.Generation(ctx)
	if err != nil {
		return err
	}
	if known != generation || highest > through {
		return fmt.Errorf("%w: the database knows the message log %q up to place %d, and beside it lies %q up to %d", sessions.ErrDamaged, known, highest, generation, through)
	}
	return rules.While(s.Distrust(ctx, through, 0), "adopt the copy")
}
