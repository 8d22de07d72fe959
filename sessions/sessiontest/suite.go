// Package sessiontest holds every driver of [sessions.Store] to what the
// contract promises. A driver's own test is ten lines that open it and call
// [Run]; a bug that is found in one driver becomes a case here.
package sessiontest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"parley/sessions"

	"pgregory.net/rapid"
)

// Run holds the stores that open makes to the contract. Each call of open
// returns an empty store, which ends with the test that it is given.
func Run(t *testing.T, open func(t *testing.T) sessions.Store) {
	t.Helper()
	for _, g := range groups() {
		g.start(t, open)
	}
}

// Only is Run of the groups of that name, for a store that is no driver and
// does not keep the rest.
func Only(t *testing.T, open func(t *testing.T) sessions.Store, names ...string) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(groups(), func(g group) bool { return g.name == name })
		if i < 0 {
			t.Fatalf("there is no group %q", name)
		}
		groups()[i].start(t, open)
	}
}

// group is a part of the contract.
type group struct {
	name string
	run  func(t *testing.T, open opener)
}

func (g group) start(t *testing.T, open opener) {
	t.Helper()
	t.Run(g.name, func(t *testing.T) {
		t.Parallel()
		g.run(t, open)
	})
}

func groups() []group {
	return []group{
		{"dispatch", dispatch},
		{"workers", workers},
		{"order", order},
		{"generations", generations},
		{"controls", controls},
		{"turns", turns},
		{"gathering", gathering},
		{"joining", joining},
		{"messages", messages},
		{"fences", fences},
		{"repeats", repeats},
		{"hierarchy", hierarchy},
		{"money", money},
		{"budgets", budgets},
		{"outbox", outbox},
		{"chats", chats},
		{"survey", survey},
		{"queries", queries},
		{"usage", usage},
		{"recordings", recordings},
		{"records", records},
		{"erasures", erasures},
		{"erasures of requests", requestErasures},
		{"health", health},
		{"history", history},
	}
}

type opener func(t *testing.T) sessions.Store

// cases are sentences that a driver must make true, each on a store of its own.
type cases map[string]func(h *fixture)

func (cs cases) run(t *testing.T, open opener) {
	t.Helper()
	for name, f := range cs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open, f)
		})
	}
}

// turnCases are cases that begin with an open turn in a mailbox of ann's.
type turnCases map[string]func(h *fixture, f sessions.Fence, turn sessions.Turn)

func (cs turnCases) run(t *testing.T, open opener) {
	t.Helper()
	for name, f := range cs {
		cases{name: func(h *fixture) {
			fence, turn := h.working("one")
			f(h, fence, turn)
		}}.run(t, open)
	}
}

// failure is an error that a case does not allow for, and where it came.
type failure struct {
	error
	at string
}

// must returns what a store answered. An error ends the case; see run.
func must[T any](v T, err error) T {
	failOn(err)
	return v
}

// must2 is must for two answers.
func must2[A, B any](a A, b B, err error) (A, B) {
	failOn(err)
	return a, b
}

func failOn(err error) {
	if err == nil {
		return
	}
	for skip := 2; ; skip++ { // to the case, a function without a name, beyond the steps of the fixture
		pc, file, line, ok := runtime.Caller(skip)
		if !ok || strings.Contains(runtime.FuncForPC(pc).Name(), ".func") {
			panic(failure{err, fmt.Sprintf("%s:%d", filepath.Base(file), line)})
		}
	}
}

// run gives f a store of its own, and ends t where f has a failure or panics.
func run(t *testing.T, open opener, f func(h *fixture)) {
	t.Helper()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			t.Fatalf("%s: %v", r.at, r.error)
		default: // as of an element that is missing
			t.Fatalf("%v\n%s", r, debug.Stack())
		}
	}()
	f(newHouse(t, open(t)))
}

// failed is the error of an operation that answers something besides.
func failed[T any](_ T, err error) error { return err }

// failed2 is failed of two answers.
func failed2[A, B any](_ A, _ B, err error) error { return err }

// often is how many random runs a property has without PARLEY_LONG: each is
// hundreds of writes that wait for a disk. Every run of the tests makes others.
const often = 8

func long() bool { return os.Getenv("PARLEY_LONG") != "" }

// randomly is [rapid.Check] with fewer runs, unless PARLEY_LONG is set. After a
// run that failed all are run, so that rapid can make it smaller.
func randomly(t *testing.T, property func(rt *rapid.T)) {
	t.Helper()
	passed, all := 0, long()
	rapid.Check(t, func(rt *rapid.T) {
		if passed == often && !all {
			return
		}
		ended := false
		defer func() {
			if ended && !rt.Failed() {
				passed++
			} else {
				all = true
			}
		}()
		property(rt)
		ended = true
	})
}
