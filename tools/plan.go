package tools

import (
	"context"
	"fmt"
)

// Delegating is a tool that only hands work on, to turns that may do no more than the one that
// calls it. It changes nothing itself.
type Delegating interface {
	Delegates()
}

// changesNothing reports whether a call only looks around, or hands that on.
func changesNothing(t Tool, c Call) bool {
	_, delegates := t.(Delegating)
	return delegates || t.Category(c) == Read
}

// Plan returns those of s that a turn in plan mode has: all that never change anything. A
// tool for which that depends on its arguments is not among them. (AI04; docs/decisions/0076)
func (s *Set) Plan() *Set {
	return s.Filter(func(name string) bool {
		t, _ := s.Lookup(name)
		return changesNothing(t, Call{Name: name})
	})
}

// PlanGate returns the gate of a turn in plan mode: it denies every call that would change
// something, whatever set the tool comes from, and asks next about the others; a nil next
// allows them.
func PlanGate(next Gate) Gate {
	return LookGate("this conversation is in plan mode: propose it instead", next)
}

// LookGate returns a gate that denies every call that would change something, with the reason
// behind those words, and asks next about the others; a nil next allows them.
func LookGate(reason string, next Gate) Gate {
	looks := func(_ context.Context, t Tool, c Call) (Verdict, error) {
		if changesNothing(t, c) {
			return Verdict{}, nil
		}
		return Verdict{Decision: Deny, Reason: fmt.Sprintf("%s would change something, and %s", c.Name, reason)}, nil
	}
	if next == nil {
		return looks
	}
	return ChainGates(looks, next)
}
