package gateway

import (
	"context"
	"errors"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/sessions"
)

// raised returns by how much approvers have raised the budget of a scope at that time, as turns
// have it that begin now: as long as the operator lets them, and they may still decide.
func (g *Gateway) raised(ctx context.Context, s sessions.Scope, at time.Time) (costs.Amount, error) {
	e := g.present()
	if s.Limit == 0 || e.limits.Pause.Amount(s.Kind, s.Window) == 0 {
		return 0, nil
	}
	raises, err := approvals.Raises(ctx, g.opened.store, at)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return 0, err //nolint:wrapcheck // it says what was listed
	}
	access := e.cfg.AccessByChannel()
	return approvals.More(raises, s, func(r approvals.Request) (bool, error) { //nolint:wrapcheck // it says what was added up, or looked up
		by := channels.Sender{ID: r.By.ID, Alias: r.By.Alias, Name: r.By.Name}
		standing, err := g.people.Standing(ctx, r.Channel, by)
		return access[r.Channel].RoleOf(by, standing).May(roles.Approve), err
	})
}
