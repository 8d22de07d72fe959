package openai

import (
	"encoding/json"

	"parley/llm"
)

// minOutput is the least max_output_tokens that OpenAI takes in this
// protocol.
const minOutput = 16

// responsesSettings are a request up to its tools.
type responsesSettings struct {
	Model           string             `json:"model"`
	Stream          bool               `json:"stream"`
	Store           bool               `json:"store"`
	Include         []string           `json:"include,omitempty"`
	ServiceTier     string             `json:"service_tier,omitempty"`
	PromptCacheKey  string             `json:"prompt_cache_key,omitempty"`
	CacheOptions    *cacheOptions      `json:"prompt_cache_options,omitempty"`
	MaxOutputTokens int                `json:"max_output_tokens,omitempty"`
	Temperature     *float64           `json:"temperature,omitempty"`
	TopP            *float64           `json:"top_p,omitempty"`
	Reasoning       *reasoningSettings `json:"reasoning,omitempty"`
}

// responsesBehind is what stands behind the tools.
type responsesBehind struct {
	ToolChoice   string `json:"tool_choice,omitempty"`
	Instructions string `json:"instructions,omitempty"`
}

// cacheOptions say how long what a request holds is kept at least.
type cacheOptions struct {
	TTL string `json:"ttl"`
}

type reasoningSettings struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// functionTool is a tool. Strict must be said: left out it means yes here,
// and then most schemas are refused.
type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func (m *Responses) settings(r llm.Request) responsesSettings {
	s := responsesSettings{Model: m.Name(), Stream: true, ServiceTier: m.tier()}
	if limit := m.MaxTokens(r); limit > 0 {
		s.MaxOutputTokens = max(limit, minOutput)
	}
	s.Temperature, s.TopP = r.Temperature, r.TopP
	if wish := (reasoningSettings{r.Effort, r.Summary}); wish != (reasoningSettings{}) {
		s.Reasoning = &wish
	}
	if (len(m.Info().Efforts) > 0 || s.Reasoning != nil) && !m.o.DropReasoning {
		s.Include = []string{"reasoning.encrypted_content"}
	}
	if r.CacheTTL != "" {
		s.CacheOptions = &cacheOptions{r.CacheTTL}
	}
	if m.o.PromptCacheKey {
		s.PromptCacheKey = r.CacheKey
	}
	return s
}

func functionTools(ds []llm.Definition) any {
	var ts []functionTool
	for _, d := range ds {
		schema := d.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		ts = append(ts, functionTool{Type: "function", Name: d.Name, Description: d.Description, Parameters: schema})
	}
	return ts
}
