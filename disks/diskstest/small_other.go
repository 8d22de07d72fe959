//go:build !linux

// Package diskstest gives tests a disk that is really small.
package diskstest

import "testing"

// Disk is a file system of its own.
type Disk struct{ Dir string }

// Run fails: only Linux can mount a small disk for a test.
func Run(t *testing.T, _ func(t *testing.T, mount func(bytes int) *Disk)) {
	t.Helper()
	t.Fatal("a small disk is needed, and only on Linux can a test mount one (tmpfs)")
}

// Fill leaves no room.
func (d *Disk) Fill() {}

// Free gives back what Fill took.
func (d *Disk) Free() {}
