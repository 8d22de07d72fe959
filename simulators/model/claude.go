package model

import (
	"net/http"
	"slices"
	"strings"
)

// claude is what Anthropic takes of one of its models beside the conversation. Sources: the
// Claude API's pages "Thinking", "Troubleshooting thinking" (the table of what each model
// rejects, and the words of the errors), "Effort" and "Preserved thinking", the pages "What's
// new" of Opus 4.7, Sonnet 5, Opus 5, Opus 5.5, Sonnet 5.5 and Haiku 5.5, and what people were
// answered: mnfst/modelparams.dev #238, UKGovernmentBEIS/inspect_ai #3721,
// quarkiverse/quarkus-langchain4j #1812, SalesforceAIResearch/MCP-Universe #49,
// Oaklight/llm-rosetta #289, stdapi-ai/stdapi.ai #284.
type claude struct {
	sampling bool   // takes temperature or top_p
	efforts  string // that it takes; "": none
	thinking string // values of thinking.type that it takes
	unasked  bool   // thinks when a request does not say
	offHigh  bool   // without thinking it takes no effort above high
	unforced bool   // takes no forced tool use
	bound    bool   // its thinking counts only behind what it was thought behind
}

// Efforts of the generations.
const (
	upToHigh = "low medium high"
	upToMax  = "low medium high max"
	allFive  = "low medium high xhigh max"
)

// claudes are the models by the beginnings of their names.
var claudes = map[string]claude{
	"claude-fable-5-1":  {efforts: allFive, thinking: "adaptive", unasked: true, unforced: true, bound: true},
	"claude-fable-5":    {efforts: allFive, thinking: "adaptive", unasked: true},
	"claude-opus-5-5":   {efforts: allFive, thinking: "adaptive", unasked: true, unforced: true, bound: true},
	"claude-opus-5":     {efforts: allFive, thinking: "adaptive disabled", unasked: true, offHigh: true},
	"claude-sonnet-5-5": {efforts: allFive, thinking: "adaptive between_tools", unasked: true, offHigh: true, unforced: true, bound: true},
	"claude-sonnet-5":   {efforts: allFive, thinking: "adaptive disabled", unasked: true},
	"claude-haiku-5-5":  {efforts: allFive, thinking: "adaptive disabled", unasked: true, offHigh: true, bound: true},
	"claude-opus-4-8":   {efforts: allFive, thinking: "adaptive disabled"},
	"claude-opus-4-7":   {efforts: allFive, thinking: "adaptive disabled"},
	"claude-opus-4-6":   {sampling: true, efforts: upToMax, thinking: "adaptive enabled disabled"},
	"claude-sonnet-4-6": {sampling: true, efforts: upToMax, thinking: "adaptive enabled disabled"},
	"claude-opus-4-5":   {sampling: true, efforts: upToHigh, thinking: "enabled disabled"},
	"claude-sonnet-4-5": {sampling: true, thinking: "enabled disabled"},
	"claude-haiku-4-5":  {sampling: true, thinking: "enabled disabled"},
	"claude-opus-4-1":   {sampling: true, thinking: "enabled disabled"},
}

// longestPrefix returns the value whose key is the longest beginning of name.
func longestPrefix[T any](table map[string]T, name string) (v T, ok bool) {
	best := -1
	for key, value := range table {
		if strings.HasPrefix(name, key) && len(key) > best {
			best, v, ok = len(key), value, true
		}
	}
	return v, ok
}

// bindingBeta is the header value without which thinking.block_binding does not exist.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// hasBeta reports whether a request asks for a feature that is being tried out.
func hasBeta(h http.Header, name string) bool {
	for _, line := range h.Values("Anthropic-Beta") {
		if slices.ContainsFunc(strings.Split(line, ","), func(s string) bool { return strings.TrimSpace(s) == name }) {
			return true
		}
	}
	return false
}

// takes reports whether word is one of a list of words.
func takes(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// judgeEffort refuses an effort that the model does not have.
func (c claude) judgeEffort(effort string) {
	switch {
	case effort == "":
	case !takes(allFive, effort):
		panic(invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"))
	case c.efforts == "":
		panic(invalid("This model does not support the effort parameter."))
	case !takes(c.efforts, effort):
		panic(invalid(pathf("This model does not support effort level '%s'. Supported levels: %s.", effort, strings.ReplaceAll(c.efforts, " ", ", "))))
	}
}

// judgeThinking refuses a kind of thinking that the model does not have.
func (c claude) judgeThinking(kind, effort string) {
	switch {
	case kind == "" || takes(c.thinking, kind):
	case kind == "adaptive":
		panic(invalid("adaptive thinking is not supported on this model"))
	case kind == "disabled" && takes(c.thinking, "between_tools"):
		panic(invalid(`"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" to turn off up-front thinking.`))
	default:
		panic(invalid(pathf(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, kind)))
	}
	if off := kind == "disabled" || kind == "between_tools"; off && c.offHigh && (effort == "xhigh" || effort == "max") {
		panic(invalid(pathf(`"thinking.type.%s" is not supported at effort '%s' for this model. Lower the effort, or leave thinking on.`, kind, effort)))
	}
}

const thinkingPage = " Please consult our documentation at https://platform.claude.com/docs/en/build-with-claude/extended-thinking"

// judgeSampling refuses temperature, top_p and top_k where they are not taken.
func (p *Prompt) judgeSampling(q *anthropicRequest, c claude, known bool) {
	if known && !c.sampling {
		for name, set := range map[string]bool{"temperature": q.Temperature != nil && *q.Temperature != 1, "top_p": q.TopP != nil, "top_k": q.TopK != nil} {
			if set {
				panic(invalid("`" + name + "` is deprecated for this model."))
			}
		}
	}
	switch {
	case known && q.Temperature != nil && q.TopP != nil:
		panic(invalid("`temperature` and `top_p` cannot both be specified for this model. Please use only one."))
	case !p.Thinking:
	case q.Temperature != nil && *q.Temperature != 1:
		panic(invalid("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode." + thinkingPage))
	case q.TopP != nil && *q.TopP < 0.95:
		panic(invalid("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode." + thinkingPage))
	case q.TopK != nil:
		panic(invalid("`top_k` must be unset when thinking is enabled or in adaptive mode." + thinkingPage))
	}
}
