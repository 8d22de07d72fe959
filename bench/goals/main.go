// Goals says how far parley is from what a turn is to cost. It reads what the benchmarks of bench
// print, passes it on, and prints a table at the end:
//
//	go test -run '^$' -bench . ./bench | go run ./bench/goals
//
// A goal whose benchmark was not run is shown without a figure. The exit status is 1 if a benchmark
// failed, or if nothing was measured; never because a goal is missed.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "goals:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	figures, err := read(io.TeeReader(in, out))
	if err != nil {
		return err
	}
	return report(out, figures)
}

// figures are what benchmarks reported, by their names and units: more than one for a benchmark
// that ran several times.
type figures map[string]map[string][]float64

// processors is what go test appends to the name of a benchmark.
var processors = regexp.MustCompile(`-\d+$`)

// read returns what benchmarks reported, in the format that go test prints
// (https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md).
func read(in io.Reader) (figures, error) {
	all, failed := figures{}, false
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		failed = failed || strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL")
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := processors.ReplaceAllString(strings.TrimPrefix(words[0], "Benchmark"), "")
		for pair := words[2:]; len(pair) >= 2; pair = pair[2:] {
			n, err := strconv.ParseFloat(pair[0], 64)
			if err != nil {
				break // something was printed into the line
			}
			if all[name] == nil {
				all[name] = map[string][]float64{}
			}
			all[name][pair[1]] = append(all[name][pair[1]], n)
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, fmt.Errorf("read the figures: %w", err)
	case failed:
		return nil, fmt.Errorf("a benchmark failed")
	case len(all) == 0:
		return nil, fmt.Errorf("no benchmark reported anything")
	}
	return all, nil
}

// median returns the median of what a benchmark reported; false: it was not run.
func (f figures) median(benchmark, unit string) (float64, bool) {
	all := slices.Clone(f[benchmark][unit])
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}

// sum adds up what a benchmark reported in some units; false: it was not run.
func (f figures) sum(benchmark string, units []string) (total float64, ok bool) {
	for _, u := range units {
		n, found := f.median(benchmark, u)
		if !found {
			return 0, false
		}
		total += n
	}
	return total, true
}

// report prints how far each goal is.
func report(out io.Writer, f figures) error {
	var rows strings.Builder
	rows.WriteString("\ngoal\tat first\tnow\tmust\taim\t\t\n")
	for _, g := range goals {
		now, ok := g.now(f)
		shown, verdict := "-", ""
		if ok {
			shown, verdict = number(now), g.verdict(now)
		}
		fmt.Fprintf(&rows, "%s\t%s\t%s\t%s\t%s\t%s\t\n", g.what, number(g.first), shown, number(g.must), number(g.aim), verdict)
	}
	rows.WriteString(footnote)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(t, rows.String()); err != nil {
		return fmt.Errorf("print the goals: %w", err)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the goals: %w", err)
	}
	return nil
}

const footnote = `
At first: on 22 November 2026, before turns were made cheaper; 0: not measured then. docs/performance.md says
what stands in the way of a goal that is missed. The commits of a turn, and what of a prompt repeats, are held
by tests, which that page names; the size of the program is that of make build.
`

func number(n float64) string {
	if n >= 100 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}
