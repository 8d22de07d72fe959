package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// maxLines is how long the end of a failed run is at most.
const maxLines = 100

// test names a test of a package; "" is the package itself.
type test struct{ pkg, name string }

// report collects what tests print, until it is known how they end.
type report struct {
	out, log io.Writer
	printed  map[test][]string
	failed   []test
	built    map[string][]string // what the compiler said of a package
	cutOff   map[string]test     // by package, to which test's output its panic belongs
}

func newReport(out, log io.Writer) *report {
	return &report{out: out, log: log, printed: map[test][]string{}, built: map[string][]string{}, cutOff: map[string]test{}}
}

func (r *report) print(s string) {
	_, _ = io.WriteString(r.out, s)
	_, _ = io.WriteString(r.log, s)
}

// add notes an event, and prints the line with which a package ends.
func (r *report) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.built[e.ImportPath] = append(r.built[e.ImportPath], e.Output)
		r.print(e.Output)
	case "output":
		_, _ = io.WriteString(r.log, e.Output)
		if isPanic(e.Output) {
			r.cutOff[e.Package] = t
		}
		r.printed[t] = append(r.printed[t], e.Output)
		if e.Test == "" && packageLine.MatchString(e.Output) {
			_, _ = io.WriteString(r.out, e.Output)
		}
	case "pass", "skip":
		// Where tests run side by side, the panic of one stands in the output of another, and
		// that this one has passed may be said after it.
		if r.cutOff[t.pkg] != t {
			delete(r.printed, t)
		}
	case "fail":
		r.failed = append(r.failed, t)
		if e.FailedBuild != "" {
			r.printed[t] = append(r.printed[t], r.built[e.FailedBuild]...)
		}
	}
}

// packageLine is how go test says how a package ended.
var packageLine = regexp.MustCompile(`^(ok  |FAIL|\?   |---)\s?\t?`)

// finish prints the end of a run in which something failed.
func (r *report) finish(logPath string) {
	leaves := slices.DeleteFunc(slices.Clone(r.failed), func(t test) bool {
		return slices.ContainsFunc(r.failed, func(o test) bool {
			return o.pkg == t.pkg && o.name != t.name && (t.name == "" || strings.HasPrefix(o.name, t.name+"/"))
		})
	})
	if len(leaves) == 0 {
		return
	}
	// Of a package that was cut off by a panic the tests that ran have no end.
	for i, t := range leaves {
		if panicked, ok := r.cutOff[t.pkg]; ok && t.name == "" {
			leaves[i] = r.blame(panicked)
		}
	}
	lines := []string{fmt.Sprintf("%d failed; all that was printed is in %s", len(leaves), logPath)}
	const mostTests = 12
	each := (maxLines - 2) / min(len(leaves), mostTests)
	for i, t := range leaves {
		if i == mostTests {
			lines = append(lines, fmt.Sprintf("… and %d more", len(leaves)-i))
			break
		}
		lines = append(lines, r.failureLines(t, each)...)
	}
	_, _ = io.WriteString(r.out, "\n"+strings.Join(lines, "\n")+"\n")
}

// blame returns the test that a panic is of, which stands in the output of the given one:
// the first that still ran, where the time was over; of the stacks those that pass through
// a test follow then on what that test has printed.
func (r *report) blame(t test) test {
	lines := r.printed[t]
	start := slices.IndexFunc(lines, isPanic)
	names := slices.Index(lines, "\trunning tests:\n")
	if !strings.HasPrefix(lines[start], "panic: test timed out") || names < start || names+1 == len(lines) {
		return t
	}
	hung := test{t.pkg, strings.Fields(lines[names+1] + " ?")[0]}
	own := r.printed[hung]
	if hung == t {
		own = own[:start]
	}
	own = slices.Clone(own)
	for i, part := range strings.SplitAfter(strings.Join(lines[start:], ""), "\n\n") {
		if i == 0 || strings.Contains(part, "_test.go:") {
			own = append(own, part)
		}
	}
	r.printed[hung] = own
	return hung
}

// failureLines is what a failed test is told of, in at most n lines: its name, and what
// matters of its own output.
func (r *report) failureLines(t test, n int) []string {
	name := strings.TrimSuffix("--- FAIL: "+t.pkg+" "+t.name, " ")
	var kept []string
	for line := range strings.Lines(strings.Join(r.printed[t], "")) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !noise.MatchString(line) {
			const widest = 300
			kept = append(kept, string([]rune(line)[:min(len([]rune(line)), widest)]))
		}
	}
	if room := n - 1; len(kept) > room {
		// What was wrong is said first; a panic, or where it hung, last.
		isSeed := func(l string) bool { return seed.MatchString(l) }
		rest := slices.DeleteFunc(slices.Clone(kept), isSeed)
		seeds := slices.DeleteFunc(kept, func(l string) bool { return !isSeed(l) })
		seeds = seeds[:min(len(seeds), 2)]
		room -= 1 + len(seeds)
		head, tail := min(len(rest), room-room/3), room/3
		if len(rest) > head+tail {
			cut := fmt.Sprintf("    … %d lines are left out", len(rest)-head-tail)
			rest = slices.Concat(rest[:head], []string{cut}, rest[len(rest)-tail:])
		}
		kept = append(seeds, rest...)
	}
	return append([]string{name}, kept...)
}

func isPanic(line string) bool { return strings.HasPrefix(line, "panic: ") }

// noise is what says nothing about why a test failed: go test's own marks, and logs
// below a warning.
var noise = regexp.MustCompile(`^\s*(=== (RUN|PAUSE|CONT|NAME)|--- FAIL: |FAIL\s*$)|level=(INFO|DEBUG)|"level":"(INFO|DEBUG)"|\[(INF|DBG|TRC)\]`)

// seed is a line by which a run can be repeated.
var seed = regexp.MustCompile(`(?i)\bseed\b|PARLEY_SEED`)
