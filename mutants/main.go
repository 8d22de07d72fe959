// Command mutants takes important behaviour out of the code, one patch of this
// folder after another, and demands that the test which the patch names turns
// red. (make mutants)
//
// A patch is a unified diff against the module's root, behind a header:
//
//	Guard: the behaviour that is removed, in one sentence
//	Test: ./package TestName/its sub-test, which must turn red
//	Long: ./package TestName, which must too, in make mutants LONG=1 only
//	Hangs: yes, where red means that the test does not end
//
// The work tree is never written: the patched copy of a file stands in for it by
// go's -overlay. The test runs as in make test, and must pass without the patch.
//
// To add one: take the guard out, git diff > mutants/name.patch, put the guard
// back, write the header, make mutants ONLY=name.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ExitOnError)
	only := flags.String("only", "", "try this mutant alone, and show what its test says")
	long := flags.Bool("long", false, "try also those whose test takes long")
	jobs := flags.Int("jobs", 4*runtime.GOMAXPROCS(0), "how many are tried at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ms, err := load(filepath.Join(root, "mutants"))
	if err != nil {
		return err
	}
	ts, err := choose(ms, strings.TrimSuffix(*only, ".patch"), *long)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	started := time.Now()
	b := newBench(scratch)
	isLong := func(t trial) bool { return t.long }
	alive := tryAll(ctx, slices.DeleteFunc(slices.Clone(ts), isLong), b, *jobs, *only != "")
	for _, t := range ts { // these run many processes each
		if isLong(t) {
			alive += tryAll(ctx, []trial{t}, b, 1, *only != "")
		}
	}
	fmt.Printf("%d mutants, %d not killed, in %.0f s\n", len(ts), alive, time.Since(started).Seconds())
	if alive > 0 || ctx.Err() != nil {
		return errors.New("not every mutant was killed")
	}
	return nil
}

// trial is a mutant and a test that must kill it.
type trial struct {
	mutant
	target
}

// choose gives the trials of the mutant that is called only, or without a name
// those of all. Those that take long are left out unless long is set.
func choose(ms []mutant, only string, long bool) (ts []trial, err error) {
	for _, m := range ms {
		for _, t := range m.tests {
			if (only == "" || m.name == only) && (long || !t.long) {
				ts = append(ts, trial{m, t})
			}
		}
	}
	if len(ts) == 0 {
		return nil, fmt.Errorf("no mutant is called %q, or its test takes long: LONG=1", only)
	}
	return ts, nil
}

// tryAll prints a line for each trial and returns how many killed nothing. talk
// shows also why a test was red that had to be.
func tryAll(ctx context.Context, ts []trial, b *bench, jobs int, talk bool) (alive int) {
	var wg sync.WaitGroup
	var mu sync.Mutex // one line at a time, and alive
	slots := make(chan struct{}, max(jobs, 1))
	for _, t := range ts {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v := b.try(ctx, t)
			mu.Lock()
			defer mu.Unlock()
			fmt.Printf("%s: %s\n", t.mutant.name, v.line)
			if !v.killed {
				alive++
			}
			if !v.killed || talk {
				fmt.Print(v.output)
			}
		})
	}
	wg.Wait()
	return alive
}
