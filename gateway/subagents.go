package gateway

import (
	"parley/agent"
	"parley/gateway/budgets"
	"parley/gateway/ops"
	"parley/sessions"
	"parley/subagents"
)

// newSubagentRunner makes what runs sub-agents, with the same loop as a person's turn.
func (g *Gateway) newSubagentRunner(store sessions.Store, busy *agent.Registry) (*subagents.Runner, error) {
	books := struct {
		sessions.Turns
		sessions.Money
	}{ops.MeteredStore{Store: store, Metrics: g.metrics}, store}
	return subagents.New(subagents.Options{
		Settings: *g.present().turns.Children, Store: books, Busy: busy, Observer: g.metrics, Now: g.o.Now, Logger: g.o.Logger, Watch: subagentObserver(g.o.Subagent),
		Ended: func(o agent.Outcome) {
			if scope, action, ok := budgets.Denied(o); ok {
				g.metrics.BudgetDenied(scope, action)
			}
		},
	})
}
