package settings

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"parley/llm"
	"parley/problems"
)

// CircuitConfig is when a model that does not work is not called any more, and when another
// one answers in its place. (docs/decisions/0066)
type CircuitConfig struct {
	// Failures is how many calls of a model must fail for good in a row; -1: it is always
	// called. Default llm.DefaultCircuitFailures.
	Failures int           `yaml:"failures"`
	Cooldown time.Duration `yaml:"cooldown"` // until one call tries again; default llm.DefaultCircuitCooldown
	// Patience is how long a failed call is tried again where the agent has a fall-back;
	// default 20s.
	Patience time.Duration `yaml:"patience"`
	// NoneBackoff is how long nothing is tried after none of an agent's models was
	// available; default llm.DefaultNoneBackoff.
	NoneBackoff time.Duration `yaml:"no_providers_backoff"`
}

const defaultPatience = 20 * time.Second

func (c CircuitConfig) filled() CircuitConfig {
	return CircuitConfig{
		Failures: cmp.Or(c.Failures, llm.DefaultCircuitFailures), Cooldown: cmp.Or(c.Cooldown, llm.DefaultCircuitCooldown),
		Patience: cmp.Or(c.Patience, defaultPatience), NoneBackoff: cmp.Or(c.NoneBackoff, llm.DefaultNoneBackoff),
	}
}

func (c CircuitConfig) validate(ps *problems.List) {
	if c.Failures < -1 {
		ps.Add("circuit.failures", "%d is neither a number of calls nor -1", c.Failures)
	}
	for _, d := range []struct {
		key  string
		time time.Duration
	}{{"cooldown", c.Cooldown}, {"patience", c.Patience}, {"no_providers_backoff", c.NoneBackoff}} {
		if d.time < 0 || d.time > time.Hour {
			ps.Add("circuit."+d.key, "%s is not 0s to 1h", d.time)
		}
	}
}

// FallbackConfig is a model that answers when those before it do not work.
type FallbackConfig struct {
	Model  string // provider/model
	Window int    // tokens; 0: as the catalogue knows the model
	ModelSettings
}

// Fallbacks returns the models of these names as they answer besides an agent's own: asked as their
// providers' models say, because what the agent says is about its own model.
func (providers Providers) Fallbacks(names []string) (all []FallbackConfig) {
	for _, name := range names {
		_, m := providers.modelConfig(name)
		all = append(all, FallbackConfig{Model: name, Window: m.Window, ModelSettings: m.ModelSettings})
	}
	return all
}

// ChoiceNames returns the models that people may choose at the agent. They are asked as fall-backs
// are, its own model too.
func (a AgentConfig) ChoiceNames() []string {
	if a.Choices != nil {
		return a.Choices
	}
	return append([]string{a.Model}, a.Fallbacks...)
}

// validateFallbacks reports the mistakes in the fall-backs of the agent at path.
func (a AgentConfig) validateFallbacks(providers Providers, ps *problems.List, path string) {
	if i := slices.Index(a.Fallbacks, a.Model); i >= 0 && a.Model != "" {
		ps.Add(fmt.Sprintf("%s.fallbacks[%d]", path, i), "%s stands before it already", a.Model)
	}
	a.validateOthers(providers, ps, path+".fallbacks", a.Fallbacks)
}

// validateOthers reports the mistakes in a list of models that may answer besides the
// agent's own, which is checked elsewhere.
func (a AgentConfig) validateOthers(providers Providers, ps *problems.List, path string, names []string) {
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		provider, model, err := SplitModel(name)
		if err != nil {
			ps.Check(at, err)
			continue
		}
		p, ok := providers[provider]
		switch {
		case !ok:
			ps.Add(at, "no provider %q for the model %q%s", provider, model, have(provider, providers))
			continue
		case slices.Contains(names[:i], name):
			ps.Add(at, "%s stands before it already", name)
			continue
		case name == a.Model:
			continue
		}
		_, m := providers.modelConfig(name)
		reported := p.refusals(model, m.ModelSettings, false) // with the model itself
		for _, r := range p.refusals(model, m.ModelSettings, a.Tools == nil || len(a.Tools) > 0) {
			if !slices.Contains(reported, r) {
				ps.Add(at, "%s: %s", r.Parameter, r.Reason)
			}
		}
	}
}
