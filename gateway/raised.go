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

// raised returns by how much the budget of a scope is raised at that time, as turns have it that
// begin now: by the operator; and by approvers, as long as the operator lets them and they may still
// decide.
func (g *Gateway) raised(ctx context.Context, s sessions.Scope, at time.Time) (costs.Amount, error) {
	if s.Limit == 0 {
		return 0, nil
	}
	raises, err := approvals.Raises(ctx, g.opened.store, at)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return 0, err //nolint:wrapcheck // it says what was listed
	}
	return g.addRaises(ctx, raises, s)
}

// addRaises adds up those of raises that count for a scope.
func (g *Gateway) addRaises(ctx context.Context, raises []approvals.Request, s sessions.Scope) (costs.Amount, error) {
	e := g.present()
	offered := e.limits.Pause.Amount(s.Kind, s.Window) > 0
	access := e.cfg.AccessByChannel()
	return approvals.More(raises, s, offered, func(r approvals.Request) (bool, error) { //nolint:wrapcheck // it says what was added up, or looked up
		by := channels.Sender{ID: r.By.ID, Alias: r.By.Alias, Name: r.By.Name}
		standing, err := g.people.Standing(ctx, r.Channel, by)
		return access[r.Channel].RoleOf(by, standing).May(roles.Approve), err
	})
}

// raiseCounts reports whether a raise that holds counts at present.
func (g *Gateway) raiseCounts(ctx context.Context, r approvals.Request) (bool, error) {
	more, err := g.addRaises(ctx, []approvals.Request{r}, sessions.Scope{Kind: r.Raise.Kind, ID: r.Raise.ID, Window: r.Raise.Window})
	return more > 0, err
}
