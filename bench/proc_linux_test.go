package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// syncData brings f's content to the disk.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// cpuTime is what the process has spent, in nanoseconds and not in ticks of
// ten milliseconds: the sum over its threads, which in Go do not come and go.
func cpuTime(b *testing.B, pid int) (time.Duration, bool) {
	b.Helper()
	names, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	if err != nil || len(names) == 0 {
		b.Fatalf("read the processor time of %d: %v", pid, err)
	}
	var sum time.Duration
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		ns, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			b.Fatalf("read %s: %v", name, err)
		}
		sum += time.Duration(n)
	}
	return sum, true
}

// memory is what the process holds, and the most it ever held, in bytes.
func memory(b *testing.B, pid int) (now, peak int64, ok bool) {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	return field(b, string(text), "VmRSS:"), field(b, string(text), "VmHWM:"), true
}

func field(b *testing.B, text, name string) int64 {
	b.Helper()
	_, rest, _ := strings.Cut(text, name)
	words := strings.Fields(rest)
	if len(words) == 0 {
		b.Fatalf("the status of a process has no %s", name)
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n << 10
}
