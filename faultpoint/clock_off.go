//go:build !faultpoints

package faultpoint

import "time"

// Clock is nil in this build: the system's clock.
func Clock() func() time.Time { return nil }
