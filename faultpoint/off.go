//go:build !faultpoints

package faultpoint

// Enabled says whether this binary was built with fault points.
const Enabled = false

// Hit does nothing in this build.
func Hit(string) {}

// HitOn does nothing in this build.
func HitOn(_, _ string) {}
