package sessiontest

import (
	"os"
	"testing"

	"pgregory.net/rapid"
)

// often is how many random runs a property has without PARLEY_LONG: each is
// hundreds of writes that wait for a disk. Every run of the tests makes others.
const often = 8

func long() bool { return os.Getenv("PARLEY_LONG") != "" }

// randomly is [rapid.Check] with fewer runs, unless PARLEY_LONG is set. After a
// run that failed all are run, so that rapid can make it smaller.
func randomly(t *testing.T, property func(rt *rapid.T)) {
	t.Helper()
	passed, all := 0, long()
	rapid.Check(t, func(rt *rapid.T) {
		if passed == often && !all {
			return
		}
		ended := false
		defer func() {
			if ended && !rt.Failed() {
				passed++
			} else {
				all = true
			}
		}()
		property(rt)
		ended = true
	})
}
