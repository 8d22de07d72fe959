package gateway

import (
	"fmt"
	"slices"

	"parley/agent"
	"parley/gateway/ops"
	"parley/gateway/preferences"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/llm"
	"parley/problems"
)

// wireChoices opens the models that people may choose at an agent.
func (e *edition) wireChoices(name string, a settings.AgentConfig) error {
	answers := e.agents[name]
	for i, c := range e.cfg.Providers.Fallbacks(a.ChoiceNames()) {
		b, err := e.dialer().fallback(a, c)
		if err != nil {
			return problems.List{{Path: fmt.Sprintf("agents.%s.choices[%d]", name, i), Err: err}}
		}
		answers.Choices = append(answers.Choices, b)
		if c.Model != a.Model { // which is asked with the agent's own window
			e.noteModel(b.Model, b.Window)
		}
	}
	for _, c := range e.cfg.Providers.Fallbacks(a.ChoiceNames()) {
		e.noteChain(answers.With(c.Model))
	}
	e.agents[name] = answers
	return nil
}

// noteChain notes after which models a turn of the agent may go on with which.
func (e *edition) noteChain(a worker.Agent) {
	chain := []ops.ModelName{nameOf(a.Model)}
	for _, f := range a.Fallbacks {
		to := nameOf(f.Model)
		for _, from := range chain {
			if pair := [2]ops.ModelName{from, to}; !slices.Contains(e.sets.Fallbacks, pair) {
				e.sets.Fallbacks = append(e.sets.Fallbacks, pair)
			}
		}
		chain = append(chain, to)
	}
}

// menu returns which model answers for an agent, and which others people may choose.
func (e *edition) menu(agent string) preferences.Menu {
	a, ok := e.agents[agent]
	if !ok {
		return preferences.Menu{}
	}
	return a.Menu(e.cfg.Session.ChoicePerSession())
}

// works reports whether provider/model is called at present.
func works(circuits *llm.Circuits, model string) bool {
	return !slices.ContainsFunc(circuits.Open(), func(c llm.CircuitStatus) bool { return c.Provider+"/"+c.Model == model })
}

// chosenOnly returns the models that an agent has only because people may choose them.
func chosenOnly(a worker.Agent) []agent.Fallback {
	known := []ops.ModelName{nameOf(a.Model)}
	for _, f := range a.Fallbacks {
		known = append(known, nameOf(f.Model))
	}
	return slices.DeleteFunc(slices.Clone(a.Choices), func(c agent.Fallback) bool { return slices.Contains(known, nameOf(c.Model)) })
}
