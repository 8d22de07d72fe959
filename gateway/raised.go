package gateway

import (
	"context"
	"errors"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/gateway/approvals"
	"parley/gateway/people"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/sessions"
)

// raises are what budgets are higher by for a while, with those who may still raise them.
type raises struct {
	present func() *edition
	store   sessions.Store
	people  *people.Book
}

// of returns by how much the budget of a scope is raised at that time, as turns have it that
// begin now: by the operator; and by approvers, as long as the operator lets them and they may still
// decide.
func (r *raises) of(ctx context.Context, s sessions.Scope, at time.Time) (costs.Amount, error) {
	if s.Limit == 0 {
		return 0, nil
	}
	all, err := approvals.Raises(ctx, r.store, at)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return 0, err // it says what was listed
	}
	return r.add(ctx, all, s)
}

// add adds up those of all that count for a scope.
func (r *raises) add(ctx context.Context, all []approvals.Request, s sessions.Scope) (costs.Amount, error) {
	e := r.present()
	offered := e.limits.Pause.Amount(s.Kind, s.Window) > 0
	access := e.cfg.AccessByChannel()
	return approvals.More(all, s, offered, func(one approvals.Request) (bool, error) { // it says what was added up, or looked up
		by := channels.Sender{ID: one.By.ID, Alias: one.By.Alias, Name: one.By.Name}
		standing, err := r.people.Standing(ctx, one.Channel, by)
		return access[one.Channel].RoleOf(by, standing).May(roles.Approve), err
	})
}

// counts reports whether a raise that holds counts at present.
func (r *raises) counts(ctx context.Context, one approvals.Request) (bool, error) {
	more, err := r.add(ctx, []approvals.Request{one}, sessions.Scope{Kind: one.Raise.Kind, ID: one.Raise.ID, Window: one.Raise.Window})
	return more > 0, err
}
