package receive

import (
	"fmt"
	"sync/atomic"
	"time"

	"parley/channels"
	"parley/channels/internal/backoff"
)

// Account is what an adapter for any network has: a name, the waits that the network
// asks for, and one receiver at a time. Its methods may be called concurrently.
type Account struct {
	Waits Waits

	name, network string
	receiving     atomic.Bool
}

// NewAccount returns an account on a network, that receives nothing yet. sameEnd is
// that of its Waits.
func NewAccount(network string, o channels.Common, sameEnd time.Duration) *Account {
	return &Account{name: o.Name, network: network, Waits: Waits{Network: network, Now: o.Now, SameEnd: sameEnd}}
}

// Name is the configured instance name.
func (a *Account) Name() string { return a.name }

// String names the account without saying more about it.
func (a *Account) String() string { return a.network + " " + a.name }

// RestoreWaits implements [channels.WaitRestorer].
func (a *Account) RestoreWaits(known []channels.Wait, keep func(channels.Wait)) {
	a.Waits.Restore(known, keep)
}

// Begin claims the account for one Receive, until end is called. It fails while another
// one runs.
func (a *Account) Begin() (end func(), err error) {
	if !a.receiving.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%s: Receive is running already", a.network) // a mistake of the caller
	}
	return func() { a.receiving.Store(false) }, nil
}

// Pauses returns the pauses between tries of one thing.
func Pauses(o channels.Common) backoff.Pauses {
	return backoff.Pauses{Min: o.MinPause, Max: o.MaxPause, Jitter: o.Jitter}
}
