package settings

import "parley/problems"

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

// ModelSettingsOf returns what the provider of provider/model says about how it is asked.
func (c Config) ModelSettingsOf(model string) ModelSettings { return c.modelSettings(model) }

// validateSummariser reports a mistake in which model is asked for summaries.
func (c Config) validateSummariser(ps *problems.List) {
	if c.Context.Model == "" {
		return
	}
	provider, _, err := SplitModel(c.Context.Model)
	if err != nil {
		ps.Check("context.model", err)
	} else if _, ok := c.Providers[provider]; !ok {
		ps.Add("context.model", "no provider %q for the model %q%s", provider, c.Context.Model, have(provider, c.Providers))
	}
	if c.Context.Off {
		ps.Add("context.off", "is set, so that context.model is never asked: leave one of them out")
	}
}

// Summariser returns the model that is asked for summaries, as its provider's models say; nil:
// each agent's own is.
func (c Config) Summariser() *FallbackConfig {
	if c.Context.Model == "" {
		return nil
	}
	_, m := c.modelConfig(c.Context.Model)
	return &FallbackConfig{Model: c.Context.Model, Window: m.Window, ModelSettings: m.ModelSettings}
}

func (c Config) validateTitles(ps *problems.List) {
	if c.Titles.Model == "" {
		return
	}
	provider, _, err := SplitModel(c.Titles.Model)
	if err != nil {
		ps.Check("titles.model", err)
		return
	}
	if _, ok := c.Providers[provider]; !ok {
		ps.Add("titles.model", "no provider %q for the model %q%s", provider, c.Titles.Model, have(provider, c.Providers))
	}
	if c.Titles.Off {
		ps.Add("titles.off", "is set, so that titles.model is never asked: leave one of them out")
	}
}
