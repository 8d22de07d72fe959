package bench

import (
	"slices"
	"testing"
	"time"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// measured is a system under test, of one process or of several.
type measured interface {
	usage() usage
	memory() (now, peak int64, ok bool)
}

// report gives the figures of turns that took so long each, between two looks
// at the system that made them.
func report(b *testing.B, c measured, before usage, took []time.Duration, modelTime time.Duration) {
	b.Helper()
	after := c.usage()
	if len(took) == 0 {
		b.Fatal("no turn was measured")
	}
	n := float64(len(took))
	b.ReportMetric(n/after.at.Sub(before.at).Seconds(), "turns/s")
	reportTimes(b, took, modelTime)
	if after.ok {
		b.ReportMetric((after.cpu-before.cpu).Seconds()/n*1000, "cpu-s/1000turns")
	}
	if _, peak, ok := c.memory(); ok {
		b.ReportMetric(megabytes(peak), "peak-MB")
	}
	b.ReportMetric(0, "ns/op") // says the same as turns/s, less plainly
}

// reportTimes gives the percentiles of what turns took, less what the model was
// told to think.
func reportTimes(b *testing.B, took []time.Duration, modelTime time.Duration) {
	b.Helper()
	slices.Sort(took)
	for _, p := range []struct {
		share float64
		unit  string
	}{{0.50, "p50-ms"}, {0.95, "p95-ms"}, {0.99, "p99-ms"}} {
		b.ReportMetric(milliseconds(percentile(took, p.share)-modelTime), p.unit)
	}
}

// percentile is of times in ascending order.
func percentile(sorted []time.Duration, share float64) time.Duration {
	return sorted[int(share*float64(len(sorted)-1))]
}

// each runs a benchmark once for every system.
func each(b *testing.B, run func(b *testing.B, system string)) {
	eachOf(b, systems, run)
}

func eachOf(b *testing.B, systems []string, run func(b *testing.B, system string)) {
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
