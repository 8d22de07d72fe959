package worker

import (
	"sync"
	"time"
)

// leaseClock is the store's time, by which leases are judged: asked at each
// heartbeat, and carried on by this process's own timer, which no jump of the
// system's clock reaches, and which goes on while the process is paused. After the
// machine slept it is behind until the next heartbeat: until then this worker takes
// other workers, and itself, to live a little longer than they do, and takes no
// mailbox from a worker that lives.
type leaseClock struct {
	mu      sync.Mutex
	store   time.Time // guarded by mu, like the next two
	askedAt time.Time
	ends    time.Time // this worker's own lease, by its own timer; zero: it never lived
}

func (c *leaseClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store, c.askedAt = now, time.Now()
}

func (c *leaseClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.Add(time.Since(c.askedAt))
}

// extend notes a heartbeat that got through: the lease lasts until ends, counted
// from before the heartbeat was sent. It reports whether there was none before: the
// first, and the first after one that had ended.
func (c *leaseClock) extend(ends time.Time) (lapsed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lapsed = !time.Now().Before(c.ends)
	c.ends = ends
	return lapsed
}

// holds reports whether this worker's own lease has not ended. The store decides
// who may take what, by the time of the request; this is for answers that come
// late, and for not asking in vain.
func (c *leaseClock) holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.ends)
}
