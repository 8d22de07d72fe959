package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/agent"
	"parley/agent/pressure"
	"parley/gateway/ops"
	"parley/gateway/settings"
	"parley/gateway/worker"
	"parley/llm"
	"parley/problems"
)

func (e *edition) dialer() dialer { return dialer{e.cfg.Providers, e.cfg.Worker.Turns} }

// wireAgents makes the agents with their models.
func (e *edition) wireAgents() error {
	models := e.dialer()
	e.agents = map[string]worker.Agent{}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Agents)) {
		a := e.cfg.Agents[name]
		middleware, err := agent.MiddlewareNamed(a.Middleware)
		if err != nil {
			return problems.List{{Path: "agents." + name + ".middleware", Err: err}}
		}
		m, sees, err := models.model(a)
		if err != nil {
			return problems.List{{Path: "agents." + name + ".model", Err: err}}
		}
		e.agents[name] = worker.Agent{
			Model: m, MaxSteps: a.MaxIterations, MaxTokens: a.MaxTokens, Window: a.Window, SeesPictures: sees,
			Parameters: a.Parameters(), Retry: retriesOf(e.cfg).as(a), ToolTimeout: a.ToolTimeout, ToolOutput: a.ToolOutput,
			Middleware: middleware, MaxCost: a.MaxTurnCostAmount(), MaxTurnTokens: a.MaxTurnTokens,
			Prompt: e.said[name].agent(), Env: e.cfg.Bash.Variables(),
		}
		e.noteModel(m, a.Window)
		if err := e.wireFallbacks(name, a); err != nil {
			return err
		}
		if err := e.wireChoices(name, a); err != nil {
			return err
		}
		if err := e.wireSummariser(name, a); err != nil {
			return err
		}
		if err := e.wireTitles(name, a); err != nil {
			return err
		}
	}
	return nil
}

// wireFallbacks opens the models that an agent falls back to.
func (e *edition) wireFallbacks(name string, a settings.AgentConfig) error {
	answers := e.agents[name]
	for i, f := range e.cfg.Providers.Fallbacks(a.Fallbacks) {
		b, err := e.dialer().fallback(a, f)
		if err != nil {
			return problems.List{{Path: fmt.Sprintf("agents.%s.fallbacks[%d]", name, i), Err: err}}
		}
		answers.Fallbacks = append(answers.Fallbacks, b)
		e.noteModel(b.Model, b.Window)
	}
	e.noteChain(answers)
	e.agents[name] = answers
	return nil
}

func nameOf(m llm.Model) ops.ModelName {
	return ops.ModelName{Provider: m.Provider(), Model: m.Name()}
}

// noteModel notes a model of an agent, with the window that the operator gives it; 0: none.
func (e *edition) noteModel(m llm.Model, window int) {
	n := nameOf(m)
	if !slices.Contains(e.sets.Models, n) {
		e.sets.Models = append(e.sets.Models, n)
	}
	e.noteWindow(n, cmp.Or(window, llm.Lookup(m.Name()).Window))
}

// retries are the rules for failed calls.
type retries struct {
	ofProvider map[string]llm.Retry // by the provider's name
	statuses   map[string][]int     // by provider/model, where they are others than the provider's
}

// retriesOf returns the rules of all providers and their models.
func retriesOf(c settings.Config) retries {
	rs := retries{map[string]llm.Retry{}, map[string][]int{}}
	for name, p := range c.Providers {
		r := p.Retry
		rs.ofProvider[name] = llm.Retry{Max: r.Max, Base: r.Base, Cap: r.Cap, Window: r.Window, Statuses: r.Statuses}
		for _, m := range p.Models {
			if m.RetryStatuses != nil {
				rs.statuses[name+"/"+m.Name] = m.RetryStatuses
			}
		}
	}
	return rs
}

// as returns the rules as they are for an agent, which may say otherwise of its own model.
func (rs retries) as(a settings.AgentConfig) retries {
	if a.RetryStatuses != nil {
		rs.statuses = maps.Clone(rs.statuses)
		rs.statuses[a.Model] = a.RetryStatuses
	}
	return rs
}

// Next decides as the rule for the model does whose call failed; see [llm.Retry].
func (rs retries) Next(attempt int, elapsed time.Duration, err error) (time.Duration, bool) {
	var r llm.Retry
	if e, ok := errors.AsType[*llm.Error](err); ok {
		r = rs.ofProvider[e.Provider]
		if statuses, ok := rs.statuses[e.Provider+"/"+e.Model]; ok {
			r.Statuses = statuses
		}
	}
	return r.Next(attempt, elapsed, err)
}

// ladder is the window of a model, as turns of an agent use it for which that one was
// chosen; the zero value: it is not watched. (requirements AC02)
func (e *edition) ladder(agent, model string) pressure.Ladder {
	a, ok := e.agents[agent]
	if !ok || e.cfg.Context.Off {
		return pressure.Ladder{}
	}
	a = a.With(model)
	info := llm.Lookup(a.Model.Name())
	return e.cfg.Context.Ladder(cmp.Or(a.Window, info.Window), cmp.Or(a.MaxTokens, info.MaxOutput))
}

// noteWindow notes how many tokens a model takes: the fewest, where agents differ.
func (e *edition) noteWindow(n ops.ModelName, tokens int) {
	if e.sets.Windows == nil {
		e.sets.Windows = map[ops.ModelName]int{}
	}
	if known, ok := e.sets.Windows[n]; !ok || tokens < known {
		e.sets.Windows[n] = tokens
	}
}

// warnWindows names the agents of whose model nobody knows how many tokens it takes: their
// conversations are kept shorter than they may have to be.
func (e *edition) warnWindows() {
	for _, name := range slices.Sorted(maps.Keys(e.agents)) {
		a := e.agents[name]
		if a.Window == 0 && llm.Lookup(a.Model.Name()).Source == "" && !e.cfg.Context.Off {
			e.log.Warn("model window unknown, assuming 8192 tokens: set agents."+name+".window", "agent", name, "model", e.cfg.Agents[name].Model, "window", llm.DefaultWindow)
		}
		for _, f := range append(slices.Clip(a.Fallbacks), chosenOnly(a)...) {
			if f.Window == 0 && llm.Lookup(f.Model.Name()).Source == "" && !e.cfg.Context.Off {
				e.log.Warn("model window unknown, assuming 8192 tokens: set window under providers."+f.Model.Provider()+".models",
					"agent", name, "model", f.Model.Provider()+"/"+f.Model.Name(), "window", llm.DefaultWindow)
			}
		}
	}
}
