package settings

import (
	"maps"
	"slices"
	"strings"

	"parley/llm"
	"parley/problems"
	"parley/tools"
)

// Kinds of providers.
const (
	KindAnthropic       = "anthropic"        // the Messages API
	KindOpenAI          = "openai"           // Chat Completions, of OpenAI or any compatible server
	KindOpenAIResponses = "openai-responses" // Responses, in which OpenAI's models keep their reasoning
)

func kinds() []string { return []string{KindAnthropic, KindOpenAI, KindOpenAIResponses} }

// ProviderConfig is one place where models run.
type ProviderConfig struct {
	Kind    string `yaml:"kind"` // default: the provider's own name
	APIKey  Secret `yaml:"api_key"`
	BaseURL string `yaml:"base_url"` // default: the provider's own
	// Prices names the part of the price catalogue that holds for this
	// provider's models. Default: its kind; openai for both of OpenAI's.
	Prices string `yaml:"prices"`
	// Models says how models are asked by agents that do not say it themselves.
	Models []ModelConfig `yaml:"models"`
	// Retry is for failed calls at this provider; what it does not say is as in
	// Config.Retry.
	Retry RetryConfig `yaml:"retry"`
}

// Providers are the places where models run, by their names.
type Providers map[string]ProviderConfig

// validate reports the mistakes in the places where models run; all is what holds where a provider
// says nothing of retries.
func (providers Providers) validate(all RetryConfig, ps *problems.List) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p, path := providers[name], "providers."+name
		if !instanceName.MatchString(name) {
			ps.Add(path, "a provider's name is %s", instanceName)
		}
		if !slices.Contains(kinds(), p.Kind) {
			ps.Add(path+".kind", "%q is none of %s%s", p.Kind, strings.Join(kinds(), ", "), tools.Suggest(p.Kind, kinds()))
		}
		if p.APIKey.IsZero() && p.BaseURL == "" {
			ps.Add(path+".api_key", "%w, unless base_url names a server that takes none", problems.ErrRequired)
		}
		if p.BaseURL != "" {
			ps.Check(path+".base_url", llm.CheckBaseURL(p.BaseURL))
		}
		p.Retry.unlike(all).validate(ps, path+".retry")
		p.validateModels(ps, path)
	}
}
