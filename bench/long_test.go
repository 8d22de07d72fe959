package bench

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLongChat is one conversation of 310 turns: the median of its first
// ten after the very first, and of ten around the three hundredth: as people wait for
// them, and without what the simulated model takes to read the history.
func BenchmarkLongChat(b *testing.B) {
	each(b, func(b *testing.B, system string) {
		w := newWorld(b, worldOptions{})
		meter := meterModel(b, w)
		start(b, w, system, turnsOnce)
		person := int64(0)
		var early, late, earlyOwn, lateOwn []time.Duration
		atMost(b, 5, func() {
			person++
			for turn := range 310 {
				meter.take()
				d, err := w.say(person, fmt.Sprintf("hello for the time %d", turn)).wait(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				own := d - meter.take()
				switch {
				case turn >= 1 && turn <= 10:
					early, earlyOwn = append(early, d), append(earlyOwn, own)
				case turn >= 300:
					late, lateOwn = append(late, d), append(lateOwn, own)
				}
			}
		})
		b.ReportMetric(milliseconds(median(early)), "turn-2-to-11-ms")
		b.ReportMetric(milliseconds(median(late)), "turn-301-to-310-ms")
		b.ReportMetric(float64(median(late))/float64(median(early)), "late/early")
		b.ReportMetric(float64(median(lateOwn))/float64(median(earlyOwn)), "own-late/early")
	})
}
