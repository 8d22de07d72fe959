package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long one test may take; it ends a test that hangs.
const patience = "-test.timeout=10m"

// verdict is what became of a mutant.
type verdict struct {
	killed bool
	line   string
	output string // of the test's output
}

// bench tries mutants. What the tests say of the code as it is, it asks once.
type bench struct {
	dir      string        // for files of its own
	builders chan struct{} // one for each processor; a test mostly waits

	tried atomic.Int64 // gives each trial files of its own

	mu        sync.Mutex
	built     map[string]func() (string, error) // test binaries, by package
	baselines map[target]func() verdict         // by test
}

func newBench(dir string) *bench {
	return &bench{dir: dir, builders: make(chan struct{}, runtime.GOMAXPROCS(0)), built: map[string]func() (string, error){}, baselines: map[target]func() verdict{}}
}

// try takes the guard out and runs the test.
func (b *bench) try(ctx context.Context, t trial) verdict {
	texts, err := t.apply()
	if err != nil {
		return verdict{line: "does not apply", output: indent(err.Error())}
	}
	if v := b.checkBaseline(ctx, t.target); !v.killed {
		return v
	}
	name := fmt.Sprintf("mutant%d", b.tried.Add(1))
	overlay, err := b.overlay(name, texts)
	if err != nil {
		return verdict{line: err.Error()}
	}
	binary, err := b.build(ctx, name, t.pkg, overlay)
	if err != nil {
		return verdict{line: "does not compile", output: indent(err.Error())}
	}
	defer func() { _ = os.Remove(binary) }()
	r := runTest(ctx, binary, t.target, overlay)
	hung := strings.Contains(r.out, "panic: test timed out")
	v := verdict{output: indent(r.tail())}
	switch {
	case r.err == nil:
		return verdict{line: fmt.Sprintf("SURVIVED %s: %s", t.target, t.guard)}
	case hung && !t.hang:
		v.line = fmt.Sprintf("%s does not end with it", t.target)
	case !hung && !r.hasOutcome("FAIL", t.target):
		v.line = fmt.Sprintf("%s does not run with it", t.target)
	default:
		v.killed, v.line = true, fmt.Sprintf("killed by %s in %.1f s", t.target, r.took.Seconds())
	}
	return v
}

// checkBaseline is a verdict that has killed set when the test passes without any
// mutant.
func (b *bench) checkBaseline(ctx context.Context, t target) verdict {
	b.mu.Lock()
	if b.built[t.pkg] == nil {
		name := fmt.Sprintf("sound%d", len(b.built))
		b.built[t.pkg] = sync.OnceValues(func() (string, error) { return b.build(ctx, name, t.pkg, "") })
	}
	built := b.built[t.pkg]
	if b.baselines[t] == nil {
		b.baselines[t] = sync.OnceValue(func() verdict {
			binary, err := built()
			if err != nil {
				return verdict{line: t.pkg + " does not compile without it", output: indent(err.Error())}
			}
			r := runTest(ctx, binary, t, "")
			switch {
			case r.err != nil:
				return verdict{line: fmt.Sprintf("%s is red without it too", t), output: indent(r.tail())}
			case !r.hasOutcome("PASS", t):
				return verdict{line: fmt.Sprintf("%s is not there, or was skipped", t)}
			}
			return verdict{killed: true}
		})
	}
	sound := b.baselines[t]
	b.mu.Unlock()
	return sound()
}

// overlay writes the patched files, and for the go command which they replace.
func (b *bench) overlay(name string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range texts {
		old, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		by := filepath.Join(b.dir, fmt.Sprintf("%s%d.go", name, len(replace)))
		if err := os.WriteFile(by, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[old] = by
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, name+".json")
	return path, os.WriteFile(path, list, 0o600)
}

// build makes the package's test binary.
func (b *bench) build(ctx context.Context, name, pkg, overlay string) (string, error) {
	b.builders <- struct{}{}
	defer func() { <-b.builders }()
	path := filepath.Join(b.dir, name+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-o", path, pkg) // a package of this module
	cmd.Dir, cmd.Env = root, environment(overlay)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("there are no tests")
	}
	return path, nil
}

// environment is that of make test, and what is compiled is compiled as the released
// program is, so that it is there already where it was not patched. A test that builds a
// binary of its own builds it with the overlay too.
func environment(overlay string) []string {
	flags := "-trimpath"
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	return append(os.Environ(), "PARLEY_LONG=", "CGO_ENABLED=0", "GOFLAGS="+flags)
}

// result is what a run of a test said.
type result struct {
	err  error
	out  string
	took time.Duration
}

func runTest(ctx context.Context, binary string, t target, overlay string) result {
	var levels []string
	for level := range strings.SplitSeq(printedName(t.name), "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	started := time.Now()
	cmd := exec.CommandContext(ctx, binary, "-test.v", patience, "-test.run="+strings.Join(levels, "/")) // built here
	cmd.Dir, cmd.Env = filepath.Join(root, t.pkg), environment(overlay)
	out, err := cmd.CombinedOutput()
	return result{err, string(out), time.Since(started)}
}

// printedName is a test's name as it is printed.
func printedName(test string) string { return strings.ReplaceAll(test, " ", "_") }

// hasOutcome is whether the run ended the test so.
func (r result) hasOutcome(how string, t target) bool {
	return strings.Contains(r.out, "--- "+how+": "+printedName(t.name)+" (")
}

// serverLine is what a server of NATS logs, which tells nothing of a test.
var serverLine = regexp.MustCompile(`^\s*\[\d+\] \d{4}/\d\d/\d\d `)

// tail is the end of the output, without who ran, passed or was skipped.
func (r result) tail() string {
	var lines []string
	for line := range strings.Lines(r.out) {
		switch first, _, _ := strings.Cut(strings.TrimSpace(line), ":"); first {
		case "--- PASS", "--- SKIP", "PASS", "FAIL":
		default:
			if !strings.HasPrefix(first, "=== ") && !serverLine.MatchString(line) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines[max(0, len(lines)-40):], "")
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
}
