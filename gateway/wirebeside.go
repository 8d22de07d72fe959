package gateway

import (
	"cmp"
	"slices"

	"parley/agent"
	"parley/gateway/settings"
	"parley/llm"
	"parley/problems"
)

// wireSummariser opens the model that is asked for summaries of an agent's conversations, if
// that is another than its own or may become so, because people choose.
func (e *edition) wireSummariser(name string, a settings.AgentConfig) error {
	s := e.cfg.Summariser()
	if s == nil || s.Model == a.Model && !e.menu(name).Offers() {
		return nil
	}
	f, err := e.dialer().fallback(a, *s)
	if err != nil {
		return problems.List{{Path: "context.model", Err: err}}
	}
	if n := nameOf(f.Model); !slices.Contains(e.sets.Models, n) {
		e.sets.Models = append(e.sets.Models, n)
	}
	answers := e.agents[name]
	answers.Summariser = &f
	e.agents[name] = answers
	return nil
}

// wireTitles opens the model that finds titles for an agent's conversations, if one does.
func (e *edition) wireTitles(name string, a settings.AgentConfig) error {
	model := e.cfg.TitleModel(a)
	if model == "" {
		return nil
	}
	m, _, err := e.dialer().model(settings.AgentConfig{Model: model})
	if err != nil {
		return problems.List{{Path: "titles.model", Err: err}}
	}
	t, own := agent.NewTitling(m), e.cfg.Providers.ModelSettingsOf(model)
	t.MaxTokens = cmp.Or(own.MaxTokens, t.MaxTokens)
	if p := own.Parameters(); p != (llm.Parameters{CacheTTL: p.CacheTTL}) {
		t.Parameters = p // the operator knows how it is to be asked
	}
	if n := nameOf(m); !slices.Contains(e.sets.Models, n) { // its window is no concern here
		e.sets.Models = append(e.sets.Models, n)
	}
	answers := e.agents[name]
	answers.Title = &t
	e.agents[name] = answers
	return nil
}
