package tools

import (
	"context"
	"fmt"
	"slices"
)

// ChainGates asks each gate in order and gives the first answer that is not Allow,
// or the first error. Without gates everything is allowed.
func ChainGates(gates ...Gate) Gate {
	return func(ctx context.Context, t Tool, c Call) (Verdict, error) {
		for _, g := range gates {
			v, err := g(ctx, t, c)
			if err != nil || v.Decision != Allow {
				return v, err
			}
		}
		return Verdict{}, nil
	}
}

// CategoryGate allows calls of these categories and denies all others, also a
// unknown category. No categories allow nothing.
func CategoryGate(allowed ...Category) Gate {
	return func(_ context.Context, t Tool, c Call) (Verdict, error) {
		if cat := t.Category(c); !slices.Contains(allowed, cat) {
			return Verdict{Decision: Deny, Reason: fmt.Sprintf("%s is a tool of category %s, which is not allowed here", c.Name, cat) + reasonOf(t, c)}, nil
		}
		return Verdict{}, nil
	}
}

// InteractiveGate lets reading and writing pass, and asks ask about everything
// else: a nil ask denies, and what ask returns as an error ends the turn before
// the call. (F03)
func InteractiveGate(ask Gate) Gate {
	return func(ctx context.Context, t Tool, c Call) (Verdict, error) {
		switch cat := t.Category(c); {
		case cat == Read, cat == Write:
			return Verdict{}, nil
		case ask == nil:
			return Verdict{Decision: Deny, Reason: c.Name + " needs a person's approval, and there is nobody to ask" + reasonOf(t, c)}, nil
		default:
			return ask(ctx, t, c)
		}
	}
}

// JobGate returns the gate of unattended turns: reading passes, writing only with a
// tool that the job lists, and everything else only when the job lists the tool
// and the operator allows such tools in jobs at all. (K04, S6.14, conflict 9)
func JobGate(listed []string, allowAdmin bool) Gate {
	listed = slices.Clone(listed)
	return func(_ context.Context, t Tool, c Call) (Verdict, error) {
		cat := t.Category(c)
		known := slices.Contains(listed, c.Name)
		if cat == Read || known && (cat == Write || allowAdmin) {
			return Verdict{}, nil
		}
		return Verdict{Decision: Deny, Reason: c.Name + " may not run in a scheduled job" + reasonOf(t, c)}, nil
	}
}

// reasonOf returns why a call is of its category, where its tool can say that, to stand
// behind another sentence.
func reasonOf(t Tool, c Call) string {
	if r, ok := t.(Reasoner); ok {
		if why := r.Reason(c); why != "" {
			return ": " + why
		}
	}
	return ""
}
