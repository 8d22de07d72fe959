package worker

import (
	"sync"
	"time"
)

// leaseClock is the store's time, by which leases are judged: asked at each
// heartbeat, and carried on by this process's own timer, which no jump of the
// system's clock reaches. After the machine slept it is behind until the next
// heartbeat: then others live a little longer, and nobody is taken from the
// living.
type leaseClock struct {
	mu    sync.Mutex
	store time.Time // guarded by mu, like the next
	asked time.Time
}

func (c *leaseClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store, c.asked = now, time.Now()
}

func (c *leaseClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.Add(time.Since(c.asked))
}
