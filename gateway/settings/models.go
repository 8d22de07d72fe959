package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/llm"
	"parley/llm/anthropic"
	"parley/llm/openai"
	"parley/problems"
)

// ModelSettings are how a model is asked, and what its tools may take. What is not said is
// the provider's own default.
type ModelSettings struct {
	Temperature *float64 `yaml:"temperature"`
	TopP        *float64 `yaml:"top_p"`
	Effort      string   `yaml:"effort"`           // none, minimal, low, medium, high, xhigh or max
	Thinking    string   `yaml:"thinking"`         // of Claude: adaptive, off, or a number of tokens
	Summary     string   `yaml:"thinking_summary"` // auto, concise or detailed
	CacheTTL    string   `yaml:"cache_ttl"`        // how long the provider keeps what it has read: 5m or 1h; in Responses 30m or 12h
	MaxTokens   int      `yaml:"max_tokens"`       // output of one call, thinking included; 0: as much as the model has

	// RetryStatuses are the statuses of HTTP after which a call of the model is tried again.
	// Default: as the provider's Retry says. An empty list is none.
	RetryStatuses []int `yaml:"retry_statuses"`

	ToolTimeout time.Duration `yaml:"tool_timeout"` // of one call of a tool; default 2m
	ToolOutput  int           `yaml:"tool_output"`  // bytes of one result of a tool; default 200000
}

// ModelConfig is how one model of a provider is asked.
type ModelConfig struct {
	Name   string `yaml:"name"`   // as the provider knows it
	Window int    `yaml:"window"` // tokens, where an agent does not say it; 0: as the catalogue knows the model
	ModelSettings
}

// or returns s, with what it does not say taken from d.
func (s ModelSettings) or(d ModelSettings) ModelSettings {
	s.Temperature, s.TopP = cmp.Or(s.Temperature, d.Temperature), cmp.Or(s.TopP, d.TopP)
	s.Effort, s.Thinking, s.Summary = cmp.Or(s.Effort, d.Effort), cmp.Or(s.Thinking, d.Thinking), cmp.Or(s.Summary, d.Summary)
	s.CacheTTL, s.MaxTokens = cmp.Or(s.CacheTTL, d.CacheTTL), cmp.Or(s.MaxTokens, d.MaxTokens)
	s.ToolTimeout, s.ToolOutput = cmp.Or(s.ToolTimeout, d.ToolTimeout), cmp.Or(s.ToolOutput, d.ToolOutput)
	if s.RetryStatuses == nil {
		s.RetryStatuses = d.RetryStatuses
	}
	return s
}

// unlike returns s without what d says as well, where a mistake is reported already.
func (s ModelSettings) unlike(d ModelSettings) ModelSettings {
	clearSame(&s.Thinking, d.Thinking)
	clearSame(&s.MaxTokens, d.MaxTokens)
	clearSame(&s.ToolTimeout, d.ToolTimeout)
	clearSame(&s.ToolOutput, d.ToolOutput)
	if slices.Equal(s.RetryStatuses, d.RetryStatuses) {
		s.RetryStatuses = nil
	}
	return s
}

func clearSame[T comparable](v *T, other T) {
	if *v == other {
		*v = *new(T)
	}
}

// Parameters returns how the model is asked, of settings that Validate accepts.
func (s ModelSettings) Parameters() llm.Parameters {
	p := llm.Parameters{Temperature: s.Temperature, TopP: s.TopP, Effort: s.Effort, Summary: s.Summary, CacheTTL: s.CacheTTL}
	if n, err := strconv.Atoi(s.Thinking); err == nil {
		p.Thinking, p.Budget = llm.Budgeted, n
	} else {
		p.Thinking = llm.Thinking(s.Thinking)
	}
	return p
}

// ModelSettingsOf returns what the provider of provider/model says about how it is asked.
func (providers Providers) ModelSettingsOf(model string) ModelSettings {
	_, m := providers.modelConfig(model)
	return m.ModelSettings
}

// modelConfig finds what the provider of provider/model says about it, and where that
// stands; "": nowhere.
func (providers Providers) modelConfig(model string) (path string, m ModelConfig) {
	provider, name, err := SplitModel(model)
	if err != nil {
		return "", m
	}
	models := providers[provider].Models
	i := slices.IndexFunc(models, func(m ModelConfig) bool { return m.Name == name })
	if i < 0 {
		return "", m
	}
	return modelPath("providers."+provider, i), models[i]
}

func modelPath(provider string, i int) string { return fmt.Sprintf("%s.models[%d]", provider, i) }

// validateModels reports the mistakes in how a provider's models are asked.
func (p ProviderConfig) validateModels(ps *problems.List, path string) {
	seen := map[string]bool{}
	for i, m := range p.Models {
		at := modelPath(path, i)
		switch {
		case m.Name == "":
			ps.Add(at+".name", "%w: the model's name as the provider knows it", problems.ErrRequired)
			continue
		case seen[m.Name]:
			ps.Add(at+".name", "%q stands here a second time", m.Name)
			continue
		}
		seen[m.Name] = true
		m.validate(ps, at)
		validateWindow(ps, at, m.Window)
		for _, r := range p.refusals(m.Name, m.ModelSettings, false) {
			ps.Add(at+"."+r.Parameter, "%s", r.Reason)
		}
	}
}

// validateAsked reports what an agent's model would refuse, with what its provider says
// about it.
func (a AgentConfig) validateAsked(providers Providers, ps *problems.List, path, provider, model string) {
	at, m := providers.modelConfig(a.Model)
	a.unlike(m.ModelSettings).validate(ps, path)
	p := providers[provider]
	reported := p.refusals(model, m.ModelSettings, false) // with the model itself
	for _, r := range p.refusals(model, a.ModelSettings, a.Tools == nil || len(a.Tools) > 0) {
		switch own := a.says(r.Parameter); {
		case slices.Contains(reported, r):
		case m.says(r.Parameter) != "" && m.says(r.Parameter) == own:
			ps.Add(at+"."+r.Parameter, "for the agent %s: %s", nameOf(path), r.Reason)
		case own == "":
			ps.Add(path+".model", "%s: %s", r.Parameter, r.Reason)
		default:
			ps.Add(path+"."+r.Parameter, "%s", r.Reason)
		}
	}
}

func nameOf(path string) string { return path[len("agents."):] }

// says returns what stands under key; "": nothing.
func (s ModelSettings) says(key string) string {
	number := func(f *float64) string {
		if f == nil {
			return ""
		}
		return fmt.Sprint(*f)
	}
	return map[string]string{
		"temperature": number(s.Temperature), "top_p": number(s.TopP), "effort": s.Effort, "thinking": s.Thinking, "thinking_summary": s.Summary,
		"cache_ttl": s.CacheTTL,
	}[key]
}

// Bounds of what tools may take.
const (
	minToolOutput = 1000
	maxToolOutput = 16 << 20
	maxToolTime   = time.Hour
)

// validate reports what no model takes.
func (s ModelSettings) validate(ps *problems.List, path string) {
	if s.MaxTokens < 0 {
		ps.Add(path+".max_tokens", "%d is negative", s.MaxTokens)
	}
	if t := s.ToolTimeout; t != 0 && (t < time.Second || t > maxToolTime) {
		ps.Add(path+".tool_timeout", "%s is not 1s to %s", t, maxToolTime)
	}
	if n := s.ToolOutput; n != 0 && (n < minToolOutput || n > maxToolOutput) {
		ps.Add(path+".tool_output", "%d bytes are not %d to %d", n, minToolOutput, maxToolOutput)
	}
	validateStatuses(ps, path+".retry_statuses", s.RetryStatuses)
	if _, err := strconv.Atoi(s.Thinking); err != nil && !slices.Contains([]string{"", string(llm.AdaptiveThinking), string(llm.NoThinking)}, s.Thinking) {
		ps.Add(path+".thinking", "%q is neither adaptive nor off nor a number of tokens", s.Thinking)
	}
}

// refusals returns what a model of this provider would refuse of s.
func (p ProviderConfig) refusals(model string, s ModelSettings, tools bool) []llm.Refusal {
	switch p.Kind {
	case KindAnthropic:
		most := cmp.Or(max(s.MaxTokens, 0), llm.Lookup(model).MaxOutput)
		return anthropic.Check(model, s.Parameters(), most)
	case KindOpenAI, KindOpenAIResponses:
		return openai.Check(model, s.Parameters(), p.Kind == KindOpenAIResponses, p.BaseURL == "", tools)
	default:
		return nil
	}
}
