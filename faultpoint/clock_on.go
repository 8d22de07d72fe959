//go:build faultpoints

package faultpoint

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Clock returns the system's clock, moved by what stands in the file that the variable
// PARLEY_CLOCK names: a duration, looked at again every few milliseconds; nil
// without the variable. Its times have no monotonic reading, so that a jump is
// seen wherever two of them are compared.
func Clock() func() time.Time {
	path := os.Getenv("PARLEY_CLOCK")
	if path == "" {
		return nil
	}
	c := &clock{path: path}
	c.now() // a file that cannot be read ends the process at its start
	return c.now
}

type clock struct {
	path string

	mu     sync.Mutex
	offset time.Duration // guarded by mu, like the next
	read   time.Time
}

const clockEvery = 5 * time.Millisecond

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) > clockEvery {
		text, err := os.ReadFile(c.path)
		if err == nil {
			c.offset, err = time.ParseDuration(strings.TrimSpace(string(text)))
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "PARLEY_CLOCK: %v\n", err)
			os.Exit(2)
		}
		c.read = time.Now()
	}
	return time.Now().Add(c.offset).Round(0)
}
