package faulttest

import (
	"os"
	"path/filepath"
	"time"
)

// SetClock moves the clock of all processes, as the code of parley sees it, to
// this far from the true time: they see a jump. It needs Options.Clock. Timers run
// on, as they do when a system's clock is set.
func (r *Run) SetClock(off time.Duration) {
	r.t.Helper()
	path := r.clockFile()
	if path == "" {
		r.t.Fatal("the run has no clock of its own")
	}
	if err := os.WriteFile(path+".new", []byte(off.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		r.t.Fatal(err)
	}
}

// clockFile returns the file that says how far off the processes' clock is, "" for none.
func (r *Run) clockFile() string {
	if !r.o.Clock {
		return ""
	}
	return filepath.Join(r.Dir, "clock")
}
