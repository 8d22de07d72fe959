package faulttest

import (
	"sync"
	"testing"

	"parley/cmd/cmdtest"
)

var build = sync.OnceValues(func() (string, error) { return cmdtest.Program(cmdtest.Parley, cmdtest.FaultPoints) })

// Binary returns the path of the real program, built with its fault points.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
