package gateway

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// percentMost is the collector's target while little lives: a turn leaves much behind, and
	// little of it lives long. Against Go's 100 it takes a fifth off the processor time of a turn.
	percentMost = 200
	// headroom is how much more may be allocated until the next cycle where much lives, as where
	// thousands of turns wait for a model. Three times that would be most of what the process takes.
	headroom = 64 << 20
	// percentLeast bounds how often much is looked through.
	percentLeast = 40
)

// TuneCollector has the garbage collector's target (debug.SetGCPercent) follow what lives, for as
// long as the process runs. It is for a process that does nothing but run a gateway; call it once.
func TuneCollector() { (&collector{alive: aliveBytes, set: debug.SetGCPercent}).tune() }

// collector sets the target anew after each cycle: it is garbage itself, and its finalizer brings
// it back to life.
type collector struct {
	alive   func() uint64
	percent int
	set     func(percent int) (before int)
}

// aliveBytes returns how much of the heap lived in the last cycle, and how large the stacks were.
func aliveBytes() (alive uint64) {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(all)
	for _, s := range all {
		alive += s.Value.Uint64()
	}
	return alive
}

func (c *collector) tune() {
	if p := collectorPercent(c.alive()); p != c.percent {
		c.percent = p
		c.set(p)
	}
	runtime.SetFinalizer(c, (*collector).tune)
}

// collectorPercent returns the target where so many bytes live, those of stacks included.
func collectorPercent(alive uint64) int {
	return int(min(max(100*headroom/max(alive, 1), percentLeast), percentMost))
}
