package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/disks"
	"parley/sessions/rules"
)

// Probe implements [sessions.Store]. A server that cannot write its append-only
// file says so; one that only has too little memory is not disks.ErrFull.
func (s *Store) Probe(ctx context.Context) error {
	err := retryChanged(ctx, func() error {
		p := &plan{s: s, r: s.reading(ctx)}
		p.do("HSET", s.key("meta"), "probe", strconv.FormatInt(micros(s.now()), 10))
		return p.commit(s.client)
	})
	return rules.While(err, "write to Redis")
}

// Clock implements [sessions.Store]: the server's time.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	t, err := s.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask Redis for the time: %w", explain(err))
	}
	return t.UTC(), nil
}

// diskFullError says whether the server has no room to write its file.
func diskFullError(err error) error {
	if text := err.Error(); strings.HasPrefix(text, "MISCONF") && strings.Contains(text, "No space left") {
		return fmt.Errorf("%w: %w", disks.ErrFull, err)
	}
	return err
}
