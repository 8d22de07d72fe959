package redis

import (
	"context"
	"fmt"

	"parley/sessions"
)

// Backlog implements [sessions.Queries].
func (s *Store) Backlog(ctx context.Context) (b sessions.Backlog, err error) {
	a, err := s.look(ctx, "backlog", struct{}{})
	numbers := make([]int64, 7)
	for i := range numbers {
		if err == nil {
			numbers[i], err = a.int(i)
		}
	}
	if err != nil {
		return sessions.Backlog{}, fmt.Errorf("count what is owed: %w", err)
	}
	b.Running, b.Parked, b.Waiting = int(numbers[0]), int(numbers[1]), int(numbers[2])
	b.Pending, b.Ambiguous = int(numbers[4]), int(numbers[6])
	if b.Waiting > 0 {
		b.WaitsSince = instant(numbers[3])
	}
	if b.Pending > 0 {
		b.PendingSince = instant(numbers[5])
	}
	return b, nil
}
