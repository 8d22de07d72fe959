package gateway

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/settings"
	"parley/tools/programs"
	"parley/tools/sandbox"
)

// Security 6: programs of calls wait for a place, within the time of their call; servers take none.
func TestWallsTakeTurns(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Open(t.Context(), sandbox.Config{Programs: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	leave, err := box.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("the call's time is over")
	ctx, end := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := walls{Sandbox: box, takesTurns: true}.Run(ctx, programs.Command{})
		done <- err
	}()
	end(over)
	if err := <-done; !errors.Is(err, over) {
		t.Errorf("what waits for a place is answered with %v", err)
	}
	if _, err := (walls{Sandbox: box}).Run(t.Context(), programs.Command{}); err == nil || errors.Is(err, over) {
		t.Errorf("what takes no place is answered with %v", err) // that it has no program
	}
	leave()
	for range 2 { // the place is given back each time
		if _, err := (walls{Sandbox: box, takesTurns: true}).Run(t.Context(), programs.Command{}); err == nil {
			t.Error("a command without a program ran")
		}
	}
}

// Nothing is offered that cannot run: in an image that holds parley alone there is no bash.
func TestLacksShell(t *testing.T) {
	t.Parallel()
	empty, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bash"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	on := func(path string) func(string) (string, bool) {
		return func(name string) (string, bool) { return path, name == "PATH" }
	}
	var c settings.Config
	if err := lacksShell(c, on(empty)); err != nil {
		t.Errorf("who has no tool lacks %v", err)
	}
	c.Bash.Enabled = true
	if err := lacksShell(c, on(empty)); err == nil || !strings.Contains(err.Error(), "bash") {
		t.Errorf("without bash: %v", err)
	}
	if err := lacksShell(c, on(dir)); err != nil {
		t.Errorf("with bash: %v", err)
	}
}

// PATH is that of the process, so this test has it for itself.
func TestBashIsNotOfferedWhereItIsNot(t *testing.T) {
	box, err := sandbox.Open(t.Context(), sandbox.Config{Mode: sandbox.ModeUnsafeHost})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	var c settings.Config
	c.Bash.Enabled = true
	log := slog.New(slog.DiscardHandler)
	if newProgramTools(c, box, log, nil).scripts == nil {
		t.Error("bash is not offered although it is there")
	}
	t.Setenv("PATH", t.TempDir())
	if p := newProgramTools(c, box, log, nil); p.scripts != nil || p.runner == nil {
		t.Errorf("bash is offered: %v, command lines have the runner %v", p.scripts, p.runner)
	}
	if got := toolsWithoutProgram(c); len(got) != 1 || got[0] != "bash" {
		t.Errorf("status names %q", got)
	}
}
