package gateway

import (
	"fmt"
	"slices"
	"strings"

	"parley/agent"
	"parley/gateway/budgets"
	"parley/gateway/ops"
	"parley/sessions"
	"parley/subagents"
)

// children makes what runs sub-agents, with the same loop as a person's turn.
func (g *Gateway) children(store sessions.Store, loop agent.Loop, busy *agent.Service) (*subagents.Runner, error) {
	books := struct {
		sessions.Turns
		sessions.Money
	}{ops.Books{Store: store, Metrics: g.metrics}, store}
	return subagents.New(subagents.Options{
		Config: g.cfg.Subagents, Store: books, Loop: loop, Busy: busy, Observer: g.metrics, Now: g.o.Now, Logger: g.o.Logger, Watch: g.watch(),
		Ended: func(o agent.Outcome) {
			if scope, action, ok := budgets.Denied(o); ok {
				g.metrics.BudgetDenied(scope, action)
			}
		},
		Agents: func(name string) (subagents.Agent, bool) {
			a, ok := g.agents[name]
			return subagents.Agent{Model: a.Model, MaxTokens: a.MaxTokens}, ok
		},
	})
}

// validateSubagents holds what is said of sub-agents to the agents and tools
// that there are.
func (c Config) validateSubagents(add func(path, format string, args ...any), check func(path string, err error)) {
	s := c.Subagents
	check("subagents", s.Validate())
	for key, names := range map[string][]string{"tools": s.Tools, "deny": s.Deny} {
		for i, name := range names {
			if !slices.Contains(ToolNames(), name) {
				add(fmt.Sprintf("subagents.%s[%d]", key, i), "there is no tool %q; there are %s", name, strings.Join(ToolNames(), ", "))
			}
		}
	}
	for i, name := range s.Agents {
		if _, ok := c.Agents[name]; !ok {
			add(fmt.Sprintf("subagents.agents[%d]", i), "there is no agent %q; %s", name, have(c.Agents))
		}
	}
}
