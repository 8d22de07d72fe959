package sqlite

import (
	"context"
	"fmt"
	"time"

	"parley/sessions"
)

// Yield implements [sessions.Dispatch].
func (s *Store) Yield(ctx context.Context, f sessions.Fence, now time.Time) (bool, error) {
	yielded, err := write(ctx, s, func(x *tx) (bool, error) {
		b, found, err := x.box(f.Token)
		switch {
		case err != nil:
			return false, err
		case found && b.givenUpBy(f):
			return true, nil
		case !found || !b.heldBy(f):
			return false, sessions.ErrFenced
		}
		if err := x.flush(); err != nil {
			return false, err
		}
		last, some, err := lastWaiting(x, f.Nonce, now)
		if err != nil || !some {
			return false, err
		}
		b.waiting = max(micros(now), last+1) // clocks differ
		return true, b.handOver(x)
	})
	if err != nil {
		return false, fmt.Errorf("yield mailbox %s: %w", f.Token, err)
	}
	return yielded, nil
}

// lastWaiting says whether a mailbox that is not owned under nonce is owed work
// and has no living owner, and since when the one waits that Recover would take
// last; 0 when all of them are what dead workers left.
func lastWaiting(s source, nonce string, now time.Time) (since int64, some bool, err error) {
	some, err = s.one("SELECT waiting FROM mailboxes WHERE hot AND owner_nonce = '' ORDER BY waiting DESC LIMIT 1", nil, &since)
	if err == nil && !some {
		var one int
		some, err = s.one("SELECT 1 FROM mailboxes AS m WHERE "+leftByDead+" LIMIT 1", args(nonce, micros(now)), &one)
	}
	if err != nil {
		return 0, false, fmt.Errorf("look whether others wait: %w", err)
	}
	return since, some, nil
}
