// Package sessiontest holds every driver of [sessions.Store] to what the
// contract promises. A driver's own test is ten lines that open it and call
// [Run]; a bug that is found in one driver becomes a case here.
package sessiontest

import (
	"testing"

	"parley/sessions"
)

// Run holds the stores that open makes to the contract. Each call of open
// returns an empty store, which ends with the test that it is given.
func Run(t *testing.T, open func(t *testing.T) sessions.Store) {
	t.Helper()
	groups := []struct {
		name string
		run  func(t *testing.T, open opener)
	}{
		{"dispatch", dispatch},
		{"workers", workers},
		{"generations", generations},
		{"controls", controls},
		{"turns", turns},
		{"messages", messages},
		{"fences", fences},
		{"repeats", repeats},
		{"hierarchy", hierarchy},
		{"money", money},
		{"outbox", outbox},
		{"model", model},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.run(t, open)
		})
	}
}

type opener func(t *testing.T) sessions.Store

// cases are sentences that a driver must make true, each on a store of its own.
type cases map[string]func(t *testing.T, h *house)

func (cs cases) run(t *testing.T, open opener) {
	t.Helper()
	for name, f := range cs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newHouse(t, open(t)))
		})
	}
}
