package llm

// Parameters say how a model is asked, beside what it is asked. The zero value leaves
// everything to the provider. What is said is sent as it is: [Refusal] is for who wants to
// know first whether the model takes it.
type Parameters struct {
	Temperature *float64 `json:"temperature,omitempty"` // nil: the provider's default
	TopP        *float64 `json:"top_p,omitempty"`
	Effort      string   `json:"effort,omitempty"` // how much the model puts into an answer; "": the provider's default

	Thinking Thinking `json:"thinking,omitempty"`
	// Budget is how many tokens the model may think, where Thinking is Budgeted. They are
	// part of Request.MaxTokens; of a request that has no room for so many it is half of
	// that, and too little for any means none.
	Budget int `json:"thinking_budget,omitempty"`
	// Summary asks for thinking as people can read it: auto, concise or detailed; "": as the
	// provider does it unasked, mostly not at all.
	Summary string `json:"thinking_summary,omitempty"`

	// CacheTTL is how long the provider is to keep at least what it has read of a request: 5m or
	// 1h with Anthropic, 30m or 12h in OpenAI's Responses; "": the shorter one, as all do unasked.
	CacheTTL string `json:"cache_ttl,omitempty"`
}

// Thinking says whether a Claude model thinks before it answers. Models of OpenAI are told
// by their effort.
type Thinking string

// Ways of thinking.
const (
	DefaultThinking  Thinking = ""         // as the model does when nothing is said
	AdaptiveThinking Thinking = "adaptive" // it decides by itself how much
	Budgeted         Thinking = "budget"   // as many tokens as Parameters.Budget says
	NoThinking       Thinking = "off"
)

// Refusal is why a model does not take a parameter. Parameter is the name of its JSON;
// max_tokens or tools where it is those that do not fit.
type Refusal struct {
	Parameter string
	Reason    string
}

// IsThinking reports whether a model of which these facts hold thinks when asked with p.
func (p Parameters) IsThinking(i Info) bool {
	switch p.Thinking {
	case NoThinking:
		return false
	case AdaptiveThinking, Budgeted:
		return true
	default:
		return i.Thinking.Unasked
	}
}

// IsReasoning reports whether a model of OpenAI's of which these facts hold reasons when
// asked with p.
func (p Parameters) IsReasoning(i Info) bool {
	if p.Effort == "" {
		return i.Thinking.Unasked
	}
	return p.Effort != NoEffort
}

// NoEffort is the effort without which OpenAI's models do not reason.
const NoEffort = "none"
