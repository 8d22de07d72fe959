package programs_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"parley/gateway/redaction"
	"parley/tools/programs"
)

// writer is a program that writes these pieces.
type writer []string

func (w writer) Run(_ context.Context, c programs.Command) (programs.Result, error) {
	for _, piece := range w {
		if _, err := io.WriteString(c.Stdout, piece); err != nil {
			return programs.Result{}, err
		}
	}
	return programs.Result{}, nil
}

func (writer) Inside(workspace string) string { return workspace }

// What is reported while a program runs shows no part of a secret, wherever the pieces of its
// output are cut, and however long they are.
func TestReportsOfAProgramShowNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "canary-0123456789-0123456789"
	text := "begin\n" + secret + "\n" + strings.Repeat("x", 1100) + secret + "\nend\n"
	for _, size := range []int{1, 3, 7, 10, 500, 1010, 1120, len(text)} {
		var pieces writer
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			pieces = append(pieces, rest[:min(size, len(rest))])
		}
		var shown strings.Builder
		out := programs.NewOutput(programs.MinOutput, func(text string) { shown.WriteString(text) }, redaction.New(secret))
		if _, err := out.Run(t.Context(), pieces, programs.Command{}); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(shown.String(), redaction.Mark, "*")
		if !strings.HasPrefix(got, "begin\n*\nxxx") || strings.ContainsAny(got, "c0") {
			t.Errorf("in pieces of %d it reports %q", size, got)
		}
		if report := out.Report(""); !strings.HasPrefix(report, "stdout:\nbegin\n[redacted]\nxxx") || strings.Contains(report, "canary") {
			t.Errorf("in pieces of %d the result is %q", size, report)
		}
	}
}

func TestReportsOfAProgramWithoutSecretsComeAsTheyAre(t *testing.T) {
	t.Parallel()
	var shown []string
	out := programs.NewOutput(programs.MinOutput, func(text string) { shown = append(shown, text) }, nil)
	if _, err := out.Run(t.Context(), writer{"a", strings.Repeat("b", 3000)}, programs.Command{}); err != nil {
		t.Fatal(err)
	}
	if len(shown) != 2 || shown[0] != "a" || shown[1] != strings.Repeat("b", 1024) {
		t.Errorf("%q", shown)
	}
}

// security F24: neither stream may have much more than is kept, nor both together.
func TestAProgramThatWritesForEverIsStopped(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("y\n", 32<<10)
	long := func(n int) (all writer) {
		for range n {
			all = append(all, piece)
		}
		return all
	}
	out := programs.NewOutput(programs.MinOutput, nil, nil)
	if _, err := out.Run(t.Context(), long(8<<20/len(piece)), programs.Command{}); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	out = programs.NewOutput(programs.MinOutput, nil, nil)
	stopped := false
	_, err := out.Run(t.Context(), runner(func(ctx context.Context, c programs.Command) error {
		for _, piece := range long(1 << 10) { // 64 MiB
			for _, w := range []io.Writer{c.Stdout, c.Stderr} {
				if _, err := io.WriteString(w, piece); err != nil {
					stopped = ctx.Err() != nil
					return err
				}
			}
		}
		return nil
	}), programs.Command{})
	if _, ok := errors.AsType[*programs.FloodError](err); !ok || !stopped {
		t.Errorf("64 MiB: %v; stopped: %v", err, stopped)
	}
	if report := out.Report(""); len(report) > programs.MinOutput || strings.Count(report, " of 4194304 bytes shown]")+strings.Count(report, " of 4259840 bytes shown]") != 2 {
		t.Errorf("the result is %q", report)
	}
}

// runner runs a program of this process.
type runner func(ctx context.Context, c programs.Command) error

func (r runner) Run(ctx context.Context, c programs.Command) (programs.Result, error) {
	return programs.Result{}, r(ctx, c)
}

func (runner) Inside(workspace string) string { return workspace }
