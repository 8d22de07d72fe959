package sessions

import (
	"context"
	"time"

	"parley/costs"
	"parley/sessionkeys"
)

// Survey is the whole house at a glance, for operators. It stays cheap however
// many sessions there are.
type Survey interface {
	// Dearest is what the n trees of sessions that spent most on the day of at,
	// in UTC, spent on it, most first. Those that spent nothing are left out.
	Dearest(ctx context.Context, at time.Time, n int) ([]costs.Amount, error)
	// Active counts root sessions that had a turn opened at since or later, by
	// where their messages came from. The order means nothing.
	Active(ctx context.Context, since time.Time) ([]Activity, error)
	// Queues lists up to limit mailboxes with messages that no turn has read,
	// those first that wait longest. total is how many there are.
	Queues(ctx context.Context, limit int) (qs []Queue, total int, err error)
}

// Activity is how many sessions had turns.
type Activity struct {
	Channel  string // instance name
	Kind     sessionkeys.Kind
	Sessions int
}

// Queue is a mailbox with messages that no turn has read.
type Queue struct {
	Token    string
	Address  sessionkeys.Address
	LastSeen uint64
	LastRead uint64
}
