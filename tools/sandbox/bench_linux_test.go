//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What the walls cost: the smallest program, with and without them, and behind those of bubblewrap
// where it is installed.
func BenchmarkTrue(b *testing.B) {
	s, err := Open(b.Context(), Config{Getenv: os.LookupEnv})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	ws := b.TempDir()
	start := func(args ...string) func() error {
		return func() error { return exec.CommandContext(b.Context(), args[0], args[1:]...).Run() }
	}
	b.Run("plain", func(b *testing.B) { runTimed(b, start("/bin/true")) })
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		b.Run("bubblewrap", func(b *testing.B) {
			runTimed(b, start(bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
				"--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", ws, "/workspace", "/bin/true"))
		})
	}
	b.Run("level "+string(s.Level()), func(b *testing.B) {
		runTimed(b, func() error {
			res, err := s.Run(b.Context(), Command{Args: []string{"/bin/true"}, Workspace: ws})
			if err == nil && res.Code != 0 {
				err = fmt.Errorf("ended with %d", res.Code)
			}
			return err
		})
	})
}

// runTimed runs do again and again, and reports how long it takes.
func runTimed(b *testing.B, do func() error) {
	b.Helper()
	var all []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	reportTimes(b, all)
}

// reportTimes reports the median and the 99th percentile.
func reportTimes(b *testing.B, all []time.Duration) {
	b.Helper()
	slices.Sort(all)
	for name, share := range map[string]float64{"p50-ms": 0.50, "p99-ms": 0.99} {
		b.ReportMetric(float64(all[int(share*float64(len(all)-1))].Microseconds())/1000, name)
	}
}

// Sixteen programs at once, as many as turns may run: how long until all are there, and what memory
// they take with their helpers, shared pages counted once.
func BenchmarkSixteenAtOnce(b *testing.B) {
	const many = 16
	s, err := Open(b.Context(), Config{Getenv: os.LookupEnv})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	ws := b.TempDir()
	before := descendantsKB(b)
	memory := 0
	var all []time.Duration
	for b.Loop() {
		began := time.Now()
		ctx, end := context.WithCancel(b.Context())
		var running sync.WaitGroup
		up := make(chan struct{}, many)
		for range many {
			running.Go(func() {
				out, in := io.Pipe()
				go func() {
					if line, err := bufio.NewReader(out).ReadString('\n'); err == nil && line == "up\n" {
						up <- struct{}{}
					}
				}()
				_, _ = s.Run(ctx, Command{Args: []string{"/bin/sh", "-c", "echo up; exec sleep 100"}, Workspace: ws, Stdout: in}) // it is cut short
				_ = in.Close()
			})
		}
		for range many {
			<-up
		}
		all = append(all, time.Since(began))
		memory = max(memory, descendantsKB(b)-before)
		end()
		running.Wait()
	}
	reportTimes(b, all)
	b.ReportMetric(float64(memory)/1024, "MB")
}

// descendantsKB returns the memory of all processes below this one, shared pages in proportion.
func descendantsKB(b *testing.B) (sum int) {
	b.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	parents := map[string]string{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parents[filepath.Base(filepath.Dir(path))] = f[1]
	}
	own := fmt.Sprint(os.Getpid())
	for pid := range parents {
		for p := pid; p != "" && p != "0"; p = parents[p] {
			if p != own || pid == own {
				continue
			}
			text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
			if err != nil {
				break // likewise
			}
			for line := range strings.Lines(string(text)) {
				var kb int
				if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kb); n == 1 {
					sum += kb
				}
			}
		}
	}
	return sum
}
