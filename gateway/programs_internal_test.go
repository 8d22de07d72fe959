package gateway

import (
	"context"
	"errors"
	"testing"

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
