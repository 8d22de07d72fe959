package sqlite

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"time"

	"parley/disks"
	"parley/sessions/rules"
)

// Ticks is how often the database was probed. It only grows, and is durable when it
// is answered: a database that says less than it did is an older copy of itself.
func (s *Store) Ticks(ctx context.Context) (n uint64, err error) {
	_, err = s.readers.queryRow(ctx, "SELECT ticks FROM generation", nil, &n)
	return n, rules.While(err, "read how often the database was probed")
}

// Distrust notes that this database is an older copy: what came in up to the place
// through of the log may have been worked on, and answered, without its knowing. The
// answers that wait to be sent are marked as possible repeats ([sessions.Outgoing]);
// for those still to be made Doubt says so. Ticks answers at least ticks from now on.
// It may be repeated.
func (s *Store) Distrust(ctx context.Context, through, ticks uint64) error {
	_, err := write(ctx, s, func(x *tx) (struct{}, error) {
		if err := x.exec("UPDATE outbox SET again = 1 WHERE done = 0"); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, x.exec("UPDATE generation SET doubt = max(doubt, ?), ticks = max(ticks, ?)",
			int64(min(through, math.MaxInt64)), int64(min(ticks, math.MaxInt64))) // it fits
	})
	return rules.While(err, "note that the database is an older copy")
}

// AmbiguousThrough is up to which place of its log a message may have been answered without
// this database knowing of it; 0: none.
func (s *Store) AmbiguousThrough(ctx context.Context) (through uint64, err error) {
	_, err = s.readers.queryRow(ctx, "SELECT doubt FROM generation", nil, &through)
	return through, rules.While(err, "read what the database does not know")
}

// Probe implements [sessions.Store]. A write may still find room in the log
// beside the file when the disk has none, so the disk is asked too.
func (s *Store) Probe(ctx context.Context) error {
	err := disks.Check(filepath.Dir(s.path))
	if err == nil {
		_, err = write(ctx, s, func(x *tx) (struct{}, error) {
			return struct{}{}, x.exec("UPDATE generation SET ticks = ticks + 1")
		})
	}
	return rules.While(err, "write to the database %s", s.path)
}

// Clock implements [sessions.Store]. One process has the file, so its time is
// the store's; the leases of those before it ended when the file was opened.
func (s *Store) Clock(context.Context) (time.Time, error) { return s.now().UTC(), nil }

const page = 200 // rows read at a time for a caller's function

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(ctx context.Context) (name string, highest uint64, err error) {
	_, err = s.readers.queryRow(ctx, "SELECT name, highest FROM generation", nil, &name, &highest)
	return name, highest, rules.While(err, "read the generation")
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(ctx context.Context, name string) (int, error) {
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	lost, err := write(ctx, s, func(x *tx) (int, error) { return startGeneration(x, name) })
	return lost, rules.While(err, "start generation %s", name)
}

func startGeneration(x *tx, name string) (lost int, err error) {
	var present string
	if _, err := x.queryRow("SELECT name, lost FROM generation", nil, &present, &lost); err != nil || present == name {
		return lost, err
	}
	if err := x.flush(); err != nil {
		return 0, err
	}
	x.rows.forget()
	if _, err := x.queryRow("SELECT count(*) FROM mailboxes WHERE touched > read", nil, &lost); err != nil {
		return 0, err
	}
	for _, q := range []string{
		"UPDATE mailboxes SET attempts = 0 WHERE touched > read AND turn = ''",
		"UPDATE mailboxes SET touched = 0, read = 0, hot = (owner_nonce <> '' OR turn <> '' OR controls > 0) WHERE touched > 0",
		"UPDATE controls SET through = 0 WHERE done = 0",
	} {
		if err := x.exec(q); err != nil {
			return 0, err
		}
	}
	x.highest = 0
	return lost, x.exec("UPDATE generation SET name = ?, lost = ?, highest = 0, doubt = 0", name, lost)
}
