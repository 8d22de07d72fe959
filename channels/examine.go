package channels

import (
	"context"

	"parley/findings"
)

// Examiner is a channel that can be looked at from outside: whether the network takes its account as
// it is configured, and whether that has what it needs.
type Examiner interface {
	// Examine asks the network, and changes, sends and receives nothing; it may be called while
	// another process receives for the account. Each finding's kind is one of the network's.
	Examine(ctx context.Context) []findings.Finding
}
