//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// Enabled says whether this binary was built with fault points.
const Enabled = true

// plans is what PARLEY_FAULTS says, read once, at the first hit.
var plans = sync.OnceValue(func() []*plan {
	all, err := parse(os.Getenv("PARLEY_FAULTS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return all
})

// Hit is passed whenever the process comes by the named point. Many goroutines
// may do so at once; each hit counts once.
func Hit(point string) { HitOn(point, "") }

// HitOn is Hit with the text that is being worked on.
func HitOn(point, text string) {
	for _, p := range plans() {
		if p.isDue(point, text) {
			p.strike()
		}
	}
}

func (p *plan) strike() {
	_, _ = fmt.Fprintf(os.Stderr, "{\"msg\":\"fault\",\"plan\":%q}\n", p.text)
	switch p.action {
	case kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it has arrived
	case stop:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case crash:
		panic("fault point " + p.point)
	case delay:
		time.Sleep(p.wait)
	}
}
