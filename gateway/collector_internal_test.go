package gateway

import (
	"runtime"
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
	set := make(chan int, 64)
	newCollector(func(percent int) int {
		set <- percent
		return 0
	}).tune()
	first := <-set
	much := make([]byte, 1<<30) // never written to, so it takes no memory of the machine
	for range 1000 {
		runtime.GC()
		select {
		case p := <-set:
			if p == percentLeast {
				runtime.KeepAlive(much)
				return
			}
		default:
			runtime.Gosched()
		}
	}
	t.Errorf("it was %d and stays so", first)
}
