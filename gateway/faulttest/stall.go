package faulttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// stallLook is how often the machine is looked at.
const stallLook = 200 * time.Millisecond

// watchStalls writes down, until the test ends, when the machine stood still, or
// its disk, for as long as it takes workers to lose what they hold though nothing
// was done to them: a fault done to all, at the moment it began.
func (r *Run) watchStalls() {
	path := filepath.Join(r.Dir, "stalls")
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(stallLook)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := touchDisk(path); err != nil {
				r.t.Logf("looking at the disk: %v", err)
			}
			now := time.Now()
			if still := now.Sub(last); still > r.o.Lease/5 {
				r.faults.add(Fault{At: last.Add(stallLook), Stall: true, What: fmt.Sprintf("the machine stood still for %s", still)})
			}
			last = now
		}
	}()
	r.t.Cleanup(func() { stop(); <-ended })
}

// touchDisk returns when a byte is stored.
func touchDisk(path string) error {
	f, err := os.Create(path) // of the test
	if err != nil {
		return err // it says all
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString("."); err != nil {
		return err // it says all
	}
	return f.Sync() // it says all
}
