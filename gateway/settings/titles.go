package settings

import (
	"parley/agent/pressure"
	"parley/problems"
)

// TitlesConfig is how conversations get titles. (docs/decisions/0068)
type TitlesConfig struct {
	// Off: none is asked for; conversations are called by the beginning of their first
	// message.
	Off bool `yaml:"off"`
	// Model finds the titles of all agents' conversations, as provider/model. Default: the
	// cheapest present model of the maker whose own service answers for the agent; where
	// another server does, none.
	Model string `yaml:"model"`
}

// cheapest is the present model of a maker that costs least.
func cheapest(kind string) string {
	switch kind {
	case KindAnthropic:
		return "claude-haiku-5-5"
	case KindOpenAI, KindOpenAIResponses:
		return "gpt-6-luna"
	}
	return ""
}

// TitleModel returns which model finds titles for an agent's conversations, as
// provider/model; "": none does.
func (c Config) TitleModel(a AgentConfig) string {
	switch {
	case c.Titles.Off:
		return ""
	case c.Titles.Model != "":
		return c.Titles.Model
	}
	provider, _, err := SplitModel(a.Model)
	p := c.Providers[provider]
	if err != nil || p.BaseURL != "" || cheapest(p.Kind) == "" {
		return ""
	}
	return provider + "/" + cheapest(p.Kind)
}

// validateSummariser reports a mistake in which model is asked for summaries.
func validateSummariser(p pressure.Policy, providers Providers, ps *problems.List) {
	if p.Model == "" {
		return
	}
	provider, _, err := SplitModel(p.Model)
	if err != nil {
		ps.Check("context.model", err)
	} else if _, ok := providers[provider]; !ok {
		ps.Add("context.model", "no provider %q for the model %q%s", provider, p.Model, have(provider, providers))
	}
	if p.Off {
		ps.Add("context.off", "is set, so that context.model is never asked: leave one of them out")
	}
}

// Summariser returns the model that is asked for summaries, as its provider's models say; nil:
// each agent's own is.
func (c Config) Summariser() *FallbackConfig {
	if c.Context.Model == "" {
		return nil
	}
	_, m := c.Providers.modelConfig(c.Context.Model)
	return &FallbackConfig{Model: c.Context.Model, Window: m.Window, ModelSettings: m.ModelSettings}
}

// validate reports a mistake in which model finds titles.
func (t TitlesConfig) validate(providers Providers, ps *problems.List) {
	if t.Model == "" {
		return
	}
	provider, _, err := SplitModel(t.Model)
	if err != nil {
		ps.Check("titles.model", err)
		return
	}
	if _, ok := providers[provider]; !ok {
		ps.Add("titles.model", "no provider %q for the model %q%s", provider, t.Model, have(provider, providers))
	}
	if t.Off {
		ps.Add("titles.off", "is set, so that titles.model is never asked: leave one of them out")
	}
}
