package admin

import "parley/costs"

// USD is an amount of dollars that is a decimal text in JSON, exact to the
// pico-dollar and without a sign: "0.0115923".
type USD costs.Amount

// String is u as costs.Amount shows it to people: rounded, "$0.0116".
func (u USD) String() string { return costs.Amount(u).Display() }

// Exact is u as a plain decimal with at least the cents: "0.0115923".
func (u USD) Exact() string {
	s := costs.Amount(u).String()
	if s[0] == '-' {
		return "-" + s[2:]
	}
	return s[1:]
}

// MarshalText is Exact.
func (u USD) MarshalText() ([]byte, error) { return []byte(u.Exact()), nil }

// UnmarshalText reads what MarshalText gives.
func (u *USD) UnmarshalText(b []byte) error {
	a, err := costs.ParseAmount(string(b))
	*u = USD(a)
	return err
}

// Format returns what was settled and is held as people see it, and what of each budget was
// spent: what is settled and held today is what the budget of the day has spent.
func (s Spend) Format() (settled, held string, budgets []string) {
	today := costs.NewColumn(costs.Amount(s.Settled), costs.Amount(s.Held))
	for _, b := range s.Budgets {
		budgets = append(budgets, today.WithParts(costs.Amount(b.Spent)).Total())
	}
	return today.Part(0), today.Part(1), budgets
}

// Costs shows the tree's costs, by the places of its nodes, such that they add up.
func (d SessionDetail) Costs() costs.Tree {
	nodes := make([]costs.Node, len(d.Tree))
	for i, n := range d.Tree {
		nodes[i] = costs.Node{Depth: n.Depth, Own: costs.Amount(n.Own), Subtree: costs.Amount(n.Subtree)}
	}
	return costs.NewTree(nodes)
}

// TurnCosts shows what the turns have cost such that they add up to the session's own cost.
func (d SessionDetail) TurnCosts() []string {
	parts := make([]costs.Amount, len(d.Turns))
	for i, t := range d.Turns {
		parts[i] = costs.Amount(t.Cost)
	}
	column := costs.NewColumn(parts...)
	shown := make([]string, len(parts))
	for i := range parts {
		shown[i] = column.Part(i)
	}
	return shown
}
