package settings

import (
	"fmt"
	"slices"

	"parley/agent"
	"parley/costs"
	"parley/gateway/budgets"
	"parley/problems"
)

// MaxTurnCostAmount returns MaxTurnCost of settings that Validate accepts; 0: no limit.
func (a AgentConfig) MaxTurnCostAmount() costs.Amount {
	amount, _ := budgets.Parse(a.MaxTurnCost)
	return amount
}

// validateMiddleware reports the mistakes in what ends an agent's turns.
func (a AgentConfig) validateMiddleware(limits budgets.Config, ps *problems.List, path string) {
	has := func(name string) bool { return slices.Contains(a.Middleware, name) }
	for i, name := range a.Middleware {
		at := fmt.Sprintf("%s.middleware[%d]", path, i)
		if _, err := agent.MiddlewareNamed([]string{name}); err != nil {
			ps.Check(at, err)
		} else if slices.Contains(a.Middleware[:i], name) {
			ps.Add(at, "%q stands here a second time", name)
		}
	}
	if !has(agent.TurnLimitName) {
		ps.Add(path+".middleware", "%s is missing: nothing would end a turn that goes in circles but its budget", agent.TurnLimitName)
	}
	amount, err := budgets.Parse(a.MaxTurnCost)
	limit, limitErr := budgets.Parse(limits.Turn)
	switch {
	case err != nil:
		ps.Check(path+".max_turn_cost", err)
	case amount > 0 && !has(agent.PriceLimitName):
		ps.Add(path+".max_turn_cost", "has no effect: %s is not in middleware", agent.PriceLimitName)
	case amount > 0 && limitErr == nil && limit > 0 && amount >= limit:
		ps.Add(path+".max_turn_cost", "has no effect: budgets.turn ends a message at %s; give less", limit.Display())
	}
	switch {
	case a.MaxTurnTokens < 0:
		ps.Add(path+".max_turn_tokens", "%d is negative", a.MaxTurnTokens)
	case a.MaxTurnTokens > 0 && !has(agent.TokenLimitName):
		ps.Add(path+".max_turn_tokens", "has no effect: %s is not in middleware", agent.TokenLimitName)
	}
}
