package channeltest

import (
	"sync/atomic"
	"time"
)

// Clock is a time that runs as the machine's does and that a test sets forward. Its
// methods may be called concurrently.
type Clock struct{ ahead atomic.Int64 }

// Now returns the time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }
