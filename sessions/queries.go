package sessions

import (
	"context"
	"time"

	"parley/costs"
	"parley/sessionkeys"
)

// Queries is what people ask who run a gateway; the work itself needs none of
// it. Each answer is one state of the store, whatever is written meanwhile.
type Queries interface {
	// Sessions lists root sessions; their Subtree holds what their descendants
	// cost. Nothing fits: an empty slice.
	Sessions(ctx context.Context, q SessionQuery) ([]Session, error)
	// Find lists up to limit ids, of roots and children, that begin with prefix,
	// in their order. An empty prefix finds none.
	Find(ctx context.Context, prefix string, limit int) ([]sessionkeys.SessionID, error)
	// Stale lists up to limit root sessions that have messages and did not change at before or
	// later, those first that changed longest ago.
	Stale(ctx context.Context, before time.Time, limit int) ([]sessionkeys.SessionID, error)
	// Usage sums the ledger up, the dearest group first, days in their order.
	// The sums of all groups are the ledger's, whatever it is grouped by.
	Usage(ctx context.Context, q UsageQuery) ([]Usage, error)
	// Backlog counts what is owed now.
	Backlog(ctx context.Context) (Backlog, error)
}

// SessionQuery sets which root sessions are listed.
type SessionQuery struct {
	Since   time.Time // those that changed then or later, themselves or below; zero: all
	Channel string    // those with a turn that came by this instance; empty: all
	ByCost  bool      // the dearest subtree first; else what changed last first
	Limit   int       // at most so many; 0: none
}

// Grouping describes what usage is summed up by.
type Grouping string

// What usage can be summed up by.
const (
	ByModel   Grouping = "model"   // provider/model
	ByChannel Grouping = "channel" // instance name
	ByAgent   Grouping = "agent"   // the agent whose session made the call
	ByPurpose Grouping = "purpose"
	ByDay     Grouping = "day"     // YYYY-MM-DD in UTC
	BySession Grouping = "session" // the session that made the call, not its ancestors
)

// Groupings returns all there are.
func Groupings() []Grouping {
	return []Grouping{ByModel, ByChannel, ByAgent, ByPurpose, ByDay, BySession}
}

// UsageQuery sets which entries of the ledger are summed up, and by what.
type UsageQuery struct {
	Since, Until time.Time             // booked in [Since, Until); zero: no bound
	Tree         sessionkeys.SessionID // only calls of it and its descendants; empty: all
	By           Grouping
}

// Usage is the sums of one group of ledger entries.
type Usage struct {
	Group       string
	Amount      costs.Amount
	Calls       int64 // every attempt
	Unpriced    int64 // of those, calls whose cost is unknown and not in Amount
	Interrupted int64 // of those, calls that may have cost more than Amount says

	// Tokens; only Reasoning is counted twice, because it is part of Output.
	Input, CacheRead, CacheWrite, Output, Reasoning int64
}

// Backlog is what is owed at one moment.
type Backlog struct {
	Running    int       // conversations with an open turn
	Waiting    int       // conversations that are owed work and have no open turn
	WaitsSince time.Time // since when the first of them waits; zero: none

	Pending      int       // answers that are not finished
	PendingSince time.Time // when the first of them was queued; zero: none
	Ambiguous    int       // messages of those that may have arrived already
}

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
