package worker

import (
	"context"
	"fmt"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/sessions"
)

// scopes returns what the turn is counted for besides its session's tree, with what each
// may spend. What its sub-agents spend counts there too.
func (j *journal) scopes(ctx context.Context, at time.Time) ([]sessions.Scope, error) {
	l := j.a.settings.Limits
	all := l.Scopes(j.a.token, j.t)
	if j.job != nil {
		all = j.jobScopes(l)
	}
	if l.Turn == 0 && j.counted {
		all = append(all, budgets.TurnScope(j.t.ID))
	}
	return j.raise(ctx, all, at)
}

// jobScopes returns what a run of a job is counted for. One that a person has scheduled is theirs, and
// each has a budget of its own.
func (j *journal) jobScopes(l budgets.Limits) []sessions.Scope {
	if j.job.Person == "" {
		return l.JobScopes(j.a.token, j.t)
	}
	return l.ErrandScopes(j.a.token, j.t, j.job.Person, j.job.MaxCost)
}

// totalCost returns what the turn cost with its sub-agents, from what its calls of this process
// cost. Of one that was taken over, the store knows what was spent before, if a budget for one turn
// counts it: it is asked then, and no other time.
func (j *journal) totalCost(o agent.Outcome) costs.Amount {
	cost := o.Cost
	if j.tree != nil {
		cost += j.tree.ChildrenCost()
	}
	if !j.resumed {
		return cost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.a.ctx), time.Second)
	defer cancel()
	all, err := j.Spent(ctx)
	if err != nil {
		j.a.w.Logger.Warn("cost of a turn from before it was taken over unknown, its line and metric lack it", "session", j.t.Session, "turn", j.t.ID, "error", err)
	}
	return max(cost, all)
}

// Spent implements [agent.Journal].
func (j *journal) Spent(ctx context.Context) (costs.Amount, error) {
	settled, _, err := j.a.w.Store.Spent(ctx, budgets.TurnScope(j.t.ID), j.a.w.Now())
	if err != nil {
		return 0, fmt.Errorf("look at what the turn has cost: %w", err)
	}
	return settled, nil
}
