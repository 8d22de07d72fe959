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
func (ch checker) Probe(ctx context.Context) error {
	err := retryChanged(ctx, func() error {
		p := &plan{db: ch.database, r: ch.reading(ctx)}
		p.do("HSET", ch.key("meta"), "probe", strconv.FormatInt(micros(ch.now()), 10))
		return p.commit(ch.client)
	})
	return rules.While(err, "write to Redis")
}

// Clock implements [sessions.Store]: the server's time.
func (ch checker) Clock(ctx context.Context) (time.Time, error) {
	t, err := ch.client.Time(ctx).Result()
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
