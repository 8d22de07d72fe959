package bench

import (
	"slices"
	"testing"
	"time"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// report gives the figures of turns that took so long each, between two looks
// at the system that made them.
func report(b *testing.B, c *child, before usage, took []time.Duration, modelTime time.Duration) {
	b.Helper()
	after := c.usage()
	if len(took) == 0 {
		b.Fatal("no turn was measured")
	}
	slices.Sort(took)
	n := float64(len(took))
	b.ReportMetric(n/after.at.Sub(before.at).Seconds(), "turns/s")
	for _, p := range []struct {
		share float64
		unit  string
	}{{0.50, "p50-ms"}, {0.95, "p95-ms"}, {0.99, "p99-ms"}} {
		b.ReportMetric(milliseconds(took[int(p.share*(n-1))]-modelTime), p.unit)
	}
	if after.ok {
		b.ReportMetric((after.cpu-before.cpu).Seconds()/n*1000, "cpu-s/1000turns")
	}
	if _, peak, ok := memory(b, c.cmd.Process.Pid); ok {
		b.ReportMetric(megabytes(peak), "peak-MB")
	}
	b.ReportMetric(0, "ns/op") // says the same as turns/s, less plainly
}

// each runs a benchmark once for every system.
func each(b *testing.B, run func(b *testing.B, system string)) {
	for _, s := range systems {
		b.Run(s, func(b *testing.B) { run(b, s) })
	}
}

// atMost repeats what takes long n times at most, whatever -benchtime says.
func atMost(b *testing.B, n int, run func()) {
	for done := 0; b.Loop(); done++ {
		if done < n {
			run()
		}
	}
	b.ReportMetric(0, "ns/op")
}
