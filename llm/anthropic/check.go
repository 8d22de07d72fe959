package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"parley/llm"
)

// Check reports what Claude of that name would refuse of p, of which a request may have
// maxTokens. Of a model that the catalogue does not know only what holds for all is
// reported; the rest is for the provider to say.
func Check(model string, p llm.Parameters, maxTokens int) []llm.Refusal {
	c := check{model: model, p: p, info: llm.Lookup(model), maxTokens: maxTokens}
	c.known = c.info.Source != ""
	c.effort()
	c.thinking()
	c.summary()
	c.sampling()
	if t := p.CacheTTL; t != "" && t != "5m" && t != ttlHour {
		c.refuse("cache_ttl", "%q is neither 5m nor 1h", t)
	}
	return c.refusals
}

// check collects what is refused.
type check struct {
	model     string
	p         llm.Parameters
	info      llm.Info
	known     bool
	maxTokens int
	refusals  []llm.Refusal
}

func (c *check) refuse(parameter, format string, args ...any) {
	c.refusals = append(c.refusals, llm.Refusal{Parameter: parameter, Reason: fmt.Sprintf(format, args...)})
}

var efforts = []string{"low", "medium", "high", "xhigh", "max"}

func (c *check) effort() {
	switch effort := c.p.Effort; {
	case effort == "":
	case !slices.Contains(efforts, effort):
		c.refuse("effort", "%q is none of %s", effort, strings.Join(efforts, ", "))
	case !c.known:
	case len(c.info.Efforts) == 0:
		c.refuse("effort", "%s takes none; set thinking to a number of tokens", c.model)
	case !slices.Contains(c.info.Efforts, effort):
		c.refuse("effort", "%s does not take %q, only %s", c.model, effort, strings.Join(c.info.Efforts, ", "))
	}
}

func (c *check) thinking() {
	rules := c.info.Thinking
	switch c.p.Thinking {
	case llm.AdaptiveThinking:
		if c.known && !rules.Adaptive {
			c.refuse("thinking", "%s does not decide by itself how much to think; set a number of tokens", c.model)
		}
	case llm.Budgeted:
		switch {
		case c.known && !rules.Budget:
			c.refuse("thinking", "%s takes no number of tokens; set adaptive, and effort for how much", c.model)
		case c.p.Budget < minBudget:
			c.refuse("thinking", "%d tokens are fewer than the %d that Claude thinks at least", c.p.Budget, minBudget)
		case c.p.Budget >= c.maxTokens:
			c.refuse("thinking", "%d tokens leave nothing for an answer: they count towards max_tokens, which is %d", c.p.Budget, c.maxTokens)
		}
	case llm.NoThinking:
		switch {
		case c.known && rules.Off == "":
			c.refuse("thinking", "%s cannot be told not to think; lower its effort", c.model)
		case c.known && rules.OffHigh && (c.p.Effort == "xhigh" || c.p.Effort == "max"):
			c.refuse("effort", "%s takes %q only while it thinks, and thinking is off", c.model, c.p.Effort)
		}
	default:
	}
}

func (c *check) summary() {
	switch {
	case c.p.Summary == "":
	case c.p.Summary != "auto":
		c.refuse("thinking_summary", "%q is for OpenAI's models; Claude has auto", c.p.Summary)
	case c.p.Thinking == llm.NoThinking || c.known && !c.p.IsThinking(c.info):
		c.refuse("thinking_summary", "%s does not think: set thinking", c.model)
	}
}

// minTopP is the least top_p that Claude takes while it thinks.
const minTopP = 0.95

func (c *check) sampling() {
	t, p := c.p.Temperature, c.p.TopP
	if t != nil && (*t < 0 || *t > 1) {
		c.refuse("temperature", "%v is not 0 to 1", *t)
	}
	if p != nil && (*p < 0 || *p > 1) {
		c.refuse("top_p", "%v is not 0 to 1", *p)
	}
	switch {
	case c.known && !c.info.Sampling:
		if t != nil {
			c.refuse("temperature", "%s takes none", c.model)
		}
		if p != nil {
			c.refuse("top_p", "%s takes none", c.model)
		}
		return
	case c.known && t != nil && p != nil:
		c.refuse("top_p", "%s does not take it together with temperature", c.model)
	}
	if !c.p.IsThinking(c.info) {
		return
	}
	if t != nil && *t != 1 {
		c.refuse("temperature", "Claude takes no other than 1 while it thinks")
	}
	if p != nil && *p < minTopP {
		c.refuse("top_p", "Claude takes none below %v while it thinks", minTopP)
	}
}
