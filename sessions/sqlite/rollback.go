package sqlite

import (
	"context"
	"fmt"
	"math"

	"parley/sessions/rules"
)

// Ticks is how often the database was probed. It only grows, and is durable when it
// is answered: a database that says less than it did is an older copy of itself.
func (s *Store) Ticks(ctx context.Context) (uint64, error) {
	var n int64
	if _, err := s.readers.queryRow(ctx, "SELECT ticks FROM generation", nil, &n); err != nil {
		return 0, fmt.Errorf("read how often the database was probed: %w", err)
	}
	return uint64(n), nil
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
			int64(min(through, math.MaxInt64)), int64(min(ticks, math.MaxInt64))) //nolint:gosec // it fits
	})
	return rules.While(err, "note that the database is an older copy")
}

// AmbiguousThrough is up to which place of its log a message may have been answered without
// this database knowing of it; 0: none.
func (s *Store) AmbiguousThrough(ctx context.Context) (through uint64, err error) {
	var n int64
	if _, err := s.readers.queryRow(ctx, "SELECT doubt FROM generation", nil, &n); err != nil {
		return 0, fmt.Errorf("read what the database does not know: %w", err)
	}
	return uint64(n), nil
}
