package admin

import (
	"sync"
	"time"

	"parley/channels"
)

// Channels remembers what the adapters tell, and passes it on. Its methods may
// be called concurrently.
type Channels struct {
	channels.Observer // where everything is passed on to
	clock             func() time.Time

	mu    sync.Mutex
	names []string
	known map[string]*ChannelStatus
}

// NewChannels watches the instances of these names.
func NewChannels(next channels.Observer, names []string, now func() time.Time) *Channels {
	c := &Channels{Observer: next, clock: now, names: names, known: map[string]*ChannelStatus{}}
	for _, n := range names {
		c.known[n] = &ChannelStatus{Name: n}
	}
	return c
}

// SetConnected notes whether an instance is connected.
func (c *Channels) SetConnected(channel string, up bool) {
	c.update(channel, func(s *ChannelStatus) {
		if s.Up != up {
			s.Up, s.Changed = up, c.clock().UTC()
		}
	})
	c.Observer.SetConnected(channel, up)
}

// SetElsewhere notes whether another process receives for an instance.
func (c *Channels) SetElsewhere(channel string, is bool) {
	c.update(channel, func(s *ChannelStatus) { s.Elsewhere = is })
}

// Note remembers what an instance promises less than others.
func (c *Channels) Note(channel, note string) {
	c.update(channel, func(s *ChannelStatus) { s.Note = note })
}

// Event notes when an instance last brought something.
func (c *Channels) Event(channel string, at time.Time) {
	c.update(channel, func(s *ChannelStatus) {
		if at.After(s.LastEvent) {
			s.LastEvent = at.UTC()
		}
	})
	c.Observer.Event(channel, at)
}

func (c *Channels) update(channel string, f func(*ChannelStatus)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.known[channel]; ok {
		f(s)
	}
}

// Status returns every instance, in the order of the names.
func (c *Channels) Status() []ChannelStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]ChannelStatus, 0, len(c.names))
	for _, n := range c.names {
		all = append(all, *c.known[n])
	}
	return all
}
