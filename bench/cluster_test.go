package bench

import (
	"testing"
	"time"
)

// BenchmarkDeployments is OneChat and ManyChats for one process and for several:
// one that receives and sends, and workers, on a NATS cluster of three servers
// that all keep every message, and a Redis that syncs its file every second. Two
// workers are measured with a single NATS server too, and with a Redis that syncs
// at every write. CPU is of parley's processes together; what NATS and Redis
// spend is apart.
func BenchmarkDeployments(b *testing.B) {
	single, always := workers2, workers2
	single.name, single.nodes = "workers=2,nats=1", 1
	always.name, always.fsync = "workers=2,fsync=always", "always"
	ways := []struct {
		name string
		run  func(*testing.B, *world, measured)
	}{{"OneChat", oneAfterAnother}, {"ManyChats", manyAtOnce}}
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			for _, d := range []deployment{embedded, workers2, workers4, single, always} {
				b.Run(d.name, func(b *testing.B) {
					w := newWorld(b, worldOptions{})
					f := d.open(b, w, func(p *plan) { p.Turns = turnsOnce })
					way.run(b, w, &counting{fleet: f})
				})
			}
		})
	}
}

// counting is a fleet that reports, too, what its servers spent between the
// first look and the last.
type counting struct {
	*fleet
	nats, redis time.Duration // at the first look
	looked      bool
}

func (c *counting) usage() usage {
	c.b.Helper()
	nats, redis := c.servers()
	if !c.looked {
		c.nats, c.redis, c.looked = nats, redis, true
		return c.fleet.usage()
	}
	if n := float64(c.b.N); c.fleet.nats != nil {
		c.b.ReportMetric((nats-c.nats).Seconds()/n*1000, "nats-cpu-s/1000turns")
		c.b.ReportMetric((redis-c.redis).Seconds()/n*1000, "redis-cpu-s/1000turns")
	}
	return c.fleet.usage()
}
