package sqlite

import (
	"context"
	"path/filepath"
	"time"

	"parley/disks"
	"parley/sessions/rules"
)

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
