package gateway

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestTheCollectorsTargetFollowsWhatLives(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for alive, want := range map[uint64]int{0: 200, 10 * mb: 200, 32 * mb: 200, 64 * mb: 100, 128 * mb: 50, 160 * mb: 40, 1000 * mb: 40} {
		if got := collectorPercent(alive); got != want {
			t.Errorf("of %d MB: %d, want %d", alive/mb, got, want)
		}
	}
	var alive atomic.Uint64
	set := make(chan int, 1)
	(&collector{alive: alive.Load, set: func(percent int) int {
		set <- percent
		return 0
	}}).tune()
	if p := <-set; p != percentMost {
		t.Errorf("it begins with %d", p)
	}
	alive.Store(1000 * mb)
	for range 1000 { // the finalizer runs some time after a cycle
		runtime.GC()
		select {
		case p := <-set:
			if p != percentLeast {
				t.Errorf("where much lives it is %d", p)
			}
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("it stays as it is")
}

func TestWhatLivesIsKnown(t *testing.T) {
	t.Parallel()
	before := aliveBytes()
	much := make([]byte, 64<<20)
	runtime.GC()
	if alive := aliveBytes(); alive < uint64(len(much)) {
		t.Errorf("%d bytes live beside 64 MiB, %d before", alive, before)
	}
	runtime.KeepAlive(much)
}
