// Package sessiontest holds every driver of [sessions.Store] to what the
// contract promises. A driver's own test is ten lines that open it and call
// [Run]; a bug that is found in one driver becomes a case here.
package sessiontest

import (
	"slices"
	"testing"

	"parley/sessions"
)

// Run holds the stores that open makes to the contract. Each call of open
// returns an empty store, which ends with the test that it is given.
func Run(t *testing.T, open func(t *testing.T) sessions.Store) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.run(t, open)
		})
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			groups()[i].run(t, open)
		})
	}
}

// group is a part of the contract.
type group struct {
	name string
	run  func(t *testing.T, open opener)
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
		{"health", health},
		{"history", history},
	}
}

type opener func(t *testing.T) sessions.Store

// cases are sentences that a driver must make true, each on a store of its own.
type cases map[string]func(t *testing.T, h *fixture)

func (cs cases) run(t *testing.T, open opener) {
	t.Helper()
	for name, f := range cs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newHouse(t, open(t)))
		})
	}
}
