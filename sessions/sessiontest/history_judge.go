package sessiontest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"parley/sessions"
)

// seedOf is PARLEY_SEED, or a random one. It repeats what the clients try, not
// how they interleave.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if v := os.Getenv("PARLEY_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("PARLEY_SEED: %v", err)
		}
	}
	t.Logf("PARLEY_SEED=%d repeats what the clients of these histories try", seed)
	return seed
}

// recorder writes down who asked what when, and what the answer was.
type recorder struct {
	clock atomic.Int64 // counts begins and ends

	mu      sync.Mutex
	ops     []porcupine.Operation
	strange []error // that say no more than that the operation was refused
}

// never is the end of an operation whose answer was lost.
const never = math.MaxInt64

// fate is what becomes of an answer.
type fate int

const (
	arrives   fate = iota
	unheard        // it arrives where nobody remembers the fence in it
	forgotten      // the operation was made, and nobody was told
	abandoned      // the caller's context ends while it is made
)

// fateOf draws one: about one answer in ten is lost.
func fateOf(r *rand.Rand) fate {
	if r.IntN(10) > 0 {
		return arrives
	}
	return forgotten + fate(r.IntN(2))
}

// outcome is how an operation ended.
type outcome struct{ unknown, fenced, refused bool }

// do makes one operation and says whether its answer came.
func (r *recorder) do(ctx context.Context, client int, input any, what fate, ask func(context.Context) error, said func(outcome) any) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var cancelled sync.WaitGroup
	begin := r.clock.Add(1)
	if what == abandoned {
		cancelled.Go(cancel)
	}
	err := ask(ctx)
	end := r.clock.Add(1)
	cancelled.Wait()
	o := outcome{fenced: errors.Is(err, sessions.ErrFenced)}
	o.unknown = what == forgotten || what == abandoned && err != nil && !o.fenced
	o.refused = err != nil && !o.fenced && !o.unknown
	if o.unknown {
		end = never
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: input, Call: begin, Output: said(o), Return: end})
	if o.refused {
		r.strange = append(r.strange, fmt.Errorf("%v: %w", input, err))
	}
	return !o.unknown
}

// patience is how long a checker may think. It needs milliseconds.
const patience = time.Minute

// judge ends the test when no order of the operations explains what was told.
func (r *recorder) judge(t *testing.T, model porcupine.Model) {
	t.Helper()
	result := porcupine.CheckOperationsTimeout(model, r.ops, patience)
	if result == porcupine.Ok {
		return
	}
	for _, err := range r.strange {
		t.Log(err)
	}
	_, info := porcupine.CheckOperationsVerbose(model, r.ops, patience)
	path, err := draw(t, model, info)
	if err != nil {
		t.Error(err)
	}
	t.Fatalf("no order of these %d operations explains their answers (%s): see %s", len(r.ops), result, path)
}

// draw writes a page that shows the history, and says where. It outlives the
// test.
func draw(t *testing.T, model porcupine.Model, info porcupine.LinearizationInfo) (string, error) {
	t.Helper()
	dir := os.TempDir()
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		dir = t.ArtifactDir()
	}
	f, err := os.CreateTemp(dir, "history-*.html")
	if err != nil {
		return "", fmt.Errorf("draw the history: %w", err)
	}
	return f.Name(), errors.Join(porcupine.Visualize(model, info, f), f.Close())
}
