package openai

import (
	"fmt"
	"slices"
	"strings"

	"parley/llm"
)

// Check reports what a model of that name would refuse of p, asked through Responses or
// through Chat Completions, at OpenAI itself (own) or at a compatible server, with tools or
// without. Of a model that the catalogue does not know only what holds for all is reported;
// the rest is for the provider to say.
func Check(model string, p llm.Parameters, responses, own, tools bool) []llm.Refusal {
	c := check{model: model, p: p, info: llm.Lookup(model)}
	c.known = c.info.Source != ""
	c.effort()
	c.sampling()
	if p.Thinking != llm.DefaultThinking {
		c.refuse("thinking", "it is for Claude; here effort says how much is thought")
	}
	c.summary(responses)
	c.cache(responses)
	if own && tools && !responses && c.known && c.info.ResponsesOnly && p.IsReasoning(c.info) {
		c.refuse("effort", "%s takes tools in Chat Completions only without reasoning: set the provider's kind to openai-responses%s", model, c.orNone())
	}
	return c.refusals
}

// check collects what is refused.
type check struct {
	model    string
	p        llm.Parameters
	info     llm.Info
	known    bool
	refusals []llm.Refusal
}

func (c *check) refuse(parameter, format string, args ...any) {
	c.refusals = append(c.refusals, llm.Refusal{Parameter: parameter, Reason: fmt.Sprintf(format, args...)})
}

var efforts = []string{llm.NoEffort, "minimal", "low", "medium", "high", "xhigh", "max"}

func (c *check) effort() {
	switch effort := c.p.Effort; {
	case effort == "":
	case !slices.Contains(efforts, effort):
		c.refuse("effort", "%q is none of %s", effort, strings.Join(efforts, ", "))
	case !c.known:
	case len(c.info.Efforts) == 0:
		c.refuse("effort", "%s takes none: it does not reason", c.model)
	case !slices.Contains(c.info.Efforts, effort):
		c.refuse("effort", "%s does not take %q, only %s", c.model, effort, strings.Join(c.info.Efforts, ", "))
	}
}

// orNone is what else can be done where a model can be told not to reason.
func (c *check) orNone() string {
	if slices.Contains(c.info.Efforts, llm.NoEffort) {
		return ", or effort to none"
	}
	return ""
}

func (c *check) sampling() {
	reasons := c.known && !c.info.Sampling && c.p.IsReasoning(c.info)
	for _, s := range []struct {
		name  string
		value *float64
		most  float64
	}{{"temperature", c.p.Temperature, 2}, {"top_p", c.p.TopP, 1}} {
		switch {
		case s.value == nil:
		case *s.value < 0 || *s.value > s.most:
			c.refuse(s.name, "%v is not 0 to %v", *s.value, s.most)
		case reasons && c.orNone() != "":
			c.refuse(s.name, "%s takes none while it reasons: set effort to none", c.model)
		case reasons:
			c.refuse(s.name, "%s takes none", c.model)
		}
	}
}

func (c *check) cache(responses bool) {
	switch t := c.p.CacheTTL; {
	case t == "":
	case !responses:
		c.refuse("cache_ttl", "Chat Completions knows no other time than its own: set the provider's kind to openai-responses")
	case t != "30m" && t != "12h":
		c.refuse("cache_ttl", "%q is neither 30m nor 12h", t)
	case c.known && !c.info.CacheTTL:
		c.refuse("cache_ttl", "%s takes none", c.model)
	}
}

func (c *check) summary(responses bool) {
	switch s := c.p.Summary; {
	case s == "":
	case !slices.Contains([]string{"auto", "concise", "detailed"}, s):
		c.refuse("thinking_summary", "%q is none of auto, concise, detailed", s)
	case !responses:
		c.refuse("thinking_summary", "Chat Completions has none: set the provider's kind to openai-responses")
	case c.known && len(c.info.Efforts) == 0:
		c.refuse("thinking_summary", "%s does not reason", c.model)
	}
}
