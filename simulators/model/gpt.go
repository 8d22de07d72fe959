package model

import "strings"

// gpt is what OpenAI takes of one of its models beside the conversation. Sources: OpenAI's
// guide "Reasoning models" and the pages of the models, and what people were answered, with
// the words of the errors: openai/openai-agents-python #2089 and anomalyco/opencode #4451
// (efforts), enricoros/big-AGI #1159 and UKGovernmentBEIS/inspect_ai #5254 (efforts, as
// tried out), QwenLM/qwen-code #921 and mnfst/modelparams.dev #356 (sampling),
// openai/openai-openapi #541, BerriAI/litellm #34569 and bolna-ai/bolna #1019 (tools in Chat
// Completions).
type gpt struct {
	efforts string // that it takes; "": it does not reason
	unasked bool   // reasons when a request does not say
	noChat  bool   // while it reasons it takes tools only in Responses
}

const (
	oldEfforts = "low medium high"
	gpt5       = "minimal low medium high"
	gpt51      = "none low medium high"
	gpt52      = "none low medium high xhigh"
	gpt56      = "none low medium high xhigh max"
	gpt6       = "low medium high xhigh max"
)

// gpts are the models by the beginnings of their names.
var gpts = map[string]gpt{
	"gpt-6":             {efforts: gpt6, unasked: true, noChat: true},
	"gpt-5.6":           {efforts: gpt56, unasked: true, noChat: true},
	"gpt-5.5":           {efforts: gpt52, unasked: true, noChat: true},
	"gpt-5.4":           {efforts: gpt52, noChat: true},
	"gpt-5.2":           {efforts: gpt52},
	"gpt-5.1":           {efforts: gpt51},
	"gpt-5":             {efforts: gpt5, unasked: true},
	"gpt-5-chat-latest": {},
	"o1":                {efforts: oldEfforts, unasked: true},
	"o3":                {efforts: oldEfforts, unasked: true},
	"o4-mini":           {efforts: oldEfforts, unasked: true},
	"gpt-4":             {},
	"gpt-3.5":           {},
}

// judgeReasoning refuses an effort that the model does not have, and sampling while it
// reasons. param is the effort's name.
func (p *Prompt) judgeReasoning(param string, effort *string, temperature, topP *float64) {
	rules, known := longestPrefix(gpts, p.Model)
	p.Thinking = effort != nil && *effort != "none" || effort == nil && rules.unasked
	switch {
	case topP != nil && (*topP < 0 || *topP > 1):
		panic(invalidParam("top_p", "decimal_above_max_value", "Invalid 'top_p': expected a value between 0 and 1."))
	case effort != nil && !takes("none minimal low medium high xhigh max", *effort):
		panic(invalidParam(param, "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.", *effort)))
	case !known:
		return
	case effort != nil && rules.efforts == "":
		panic(invalidParam(param, "unsupported_parameter", pathf("Unsupported parameter: '%s' is not supported with this model.", param)))
	case effort != nil && !takes(rules.efforts, *effort):
		panic(invalidParam(param, "unsupported_value", pathf("Unsupported value: '%s' is not supported with the '%s' model. Supported values are: '%s'.", *effort, p.Model, strings.ReplaceAll(rules.efforts, " ", "', '"))))
	case rules.efforts == "" || !p.Thinking:
	case temperature != nil && *temperature != 1:
		panic(invalidParam("temperature", "unsupported_value", pathf("Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", *temperature)))
	case topP != nil && *topP != 1:
		panic(invalidParam("top_p", "unsupported_parameter", "Unsupported parameter: 'top_p' is not supported with this model."))
	}
}

// judgeChatTools refuses tools in Chat Completions where a model that reasons takes them only
// in Responses.
func (p *Prompt) judgeChatTools() {
	if rules, _ := longestPrefix(gpts, p.Model); rules.noChat && p.Thinking && len(p.Tools) > 0 {
		panic(invalidParam("reasoning_effort", "", pathf("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.", p.Model)))
	}
}
