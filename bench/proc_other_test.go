//go:build !linux

package bench

import (
	"os"
	"testing"
	"time"
)

// Where there is no /proc only times and counts are reported.

func syncData(f *os.File) error { return f.Sync() }

func cpuTime(*testing.B, int) (time.Duration, bool) { return 0, false }

func memory(*testing.B, int) (now, peak int64, ok bool) { return 0, 0, false }
