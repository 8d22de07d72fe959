package ops

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/disks"
)

// Process is what a process knows of itself and its machine. What is nil is not exported.
type Process struct {
	Ready    func(ctx context.Context) bool // it accepts messages
	Slots    func() (busy, size int)        // of turns
	Database func() (int64, error)          // its size, in bytes
	Disk     func() (disks.Space, error)    // of the state folder
}

// collectProcess exports what the process knows of itself.
func (s *Shared) collectProcess(ctx context.Context) (ms []prometheus.Metric) {
	p, d := s.Process, s.descs
	if p.Ready != nil {
		ms = append(ms, constGauge(d.ready, boolValue(p.Ready(ctx))))
	}
	if p.Slots != nil {
		busy, size := p.Slots()
		ms = append(ms, constGauge(d.slots, float64(size)), constGauge(d.busySlots, float64(busy)))
	}
	if p.Database != nil {
		if size, err := p.Database(); err != nil {
			ms = append(ms, missingMetrics(err, d.database)...)
		} else {
			ms = append(ms, constGauge(d.database, float64(size)))
		}
	}
	if p.Disk != nil {
		if space, err := p.Disk(); err != nil {
			ms = append(ms, missingMetrics(err, d.diskFree, d.diskSize)...)
		} else {
			ms = append(ms, constGauge(d.diskFree, float64(space.Free)), constGauge(d.diskSize, float64(space.Size)))
		}
	}
	return ms
}

// collectBacklog exports what is owed to people.
func (s *Shared) collectBacklog(ctx context.Context, now time.Time) []prometheus.Metric {
	d := s.descs
	b, err := s.Store.Backlog(ctx)
	if err != nil {
		return missingMetrics(err, d.answers, d.ambiguous, d.oldestAnswer, d.oldestMessage)
	}
	waited := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, now.Sub(since).Seconds())
	}
	return []prometheus.Metric{
		constGauge(d.answers, float64(b.Pending)), constGauge(d.ambiguous, float64(b.Ambiguous)),
		constGauge(d.oldestAnswer, waited(b.PendingSince)), constGauge(d.oldestMessage, waited(b.WaitsSince)),
	}
}
