package commands

import (
	"context"
	"fmt"
	"strings"

	"parley/costs"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// RemainingBudget returns what may still be spent: by the conversation of the session, by
// who asks, whom the text calls who, and by the group; "" when none of them has a limit.
// What everybody together may spend is nobody's business here.
func (d *Handler) RemainingBudget(ctx context.Context, by messages.Caller, s sessions.Session, who string) (string, error) {
	shown := []struct {
		scope sessions.Scope
		of    string
	}{
		{d.Limits.SessionScope(s.Root), "for this conversation"},
		{d.Limits.PersonScope(by.From, by.Sender), "for " + who + " today"},
		{d.Limits.GroupScope(by.From), "for this group today"},
	}
	if by.From.Kind == sessionkeys.DM {
		shown = shown[:2]
	}
	var parts []string
	for _, e := range shown {
		if e.scope.Limit == 0 {
			continue
		}
		if d.Raised != nil {
			more, err := d.Raised(ctx, e.scope, d.Now())
			if err != nil {
				return "", fmt.Errorf("look whether a budget is raised: %w", err)
			}
			if e.scope.Limit, err = e.scope.Limit.Add(more); err != nil {
				return "", fmt.Errorf("add up a budget: %w", err)
			}
		}
		settled, held, err := d.Store.Spent(ctx, e.scope, d.Now())
		if err != nil {
			return "", err
		}
		sum, err := settled.Add(held)
		if err != nil {
			return "", fmt.Errorf("add up what was spent: %w", err)
		}
		parts = append(parts, fmt.Sprintf("%s of %s %s", formatRoundedDown(max(0, e.scope.Limit-sum)), e.scope.Limit.Display(), e.of))
	}
	return strings.Join(parts, ", "), nil
}

// formatRoundedDown shows an amount rounded down: what is left is never said to be more.
func formatRoundedDown(a costs.Amount) string {
	unit := costs.USD / 100
	if a < costs.USD {
		unit = costs.USD / 10_000
	}
	return (a / unit * unit).Display()
}
