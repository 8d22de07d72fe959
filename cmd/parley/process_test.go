package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a test waits for what must come; only one that fails
// waits that long.
const patience = 60 * time.Second

// instruments is for the environment of a parley that is this binary: otherwise the
// race detector keeps each a second longer after its end, and one that counts its
// statements complains that it has no folder for them.
func instruments() []string {
	return []string{"GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
}

// ends runs a command and wants its exit status: ends 78 parley run.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends STATUS COMMAND [ARGUMENTS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("it ended with %d, not %d", got, want)
	}
}

// process is a parley that runs.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser // its standard input
	lines chan string    // of its standard output
	said  []string       // those that were read
	err   *tape
}

// start runs parley until the test ends.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	p := &process{t: t, cmd: exec.CommandContext(ctx, "parley", args...), lines: make(chan string, 1024), err: newTape()}
	p.cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, instruments(), env)
	p.cmd.Stderr = p.err
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("parley %s wrote:\n%s", strings.Join(args, " "), p.err.String())
		}
	})
	return p
}

// await reads on until a line holds text, and gives that line.
func (p *process) await(text string) string {
	p.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("it ended without saying %q: %q\n%s", text, p.said, p.err.String())
			}
			p.said = append(p.said, line)
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			p.t.Fatalf("it did not say %q: %q", text, p.said)
		}
	}
}

// end sends a signal and gives the exit status.
func (p *process) end(s os.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return p.wait()
}

// wait reads on until it ends, and gives the exit status.
func (p *process) wait() int {
	p.t.Helper()
	for line := range p.lines {
		p.said = append(p.said, line)
	}
	err := p.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return 0
}

// after is the first word behind what on a line.
func after(line, what string) string {
	_, rest, _ := strings.Cut(line, what)
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return word
}

func discard(c io.Closer) { _ = c.Close() }
