package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"parley/llm"
)

// Claude API, prompt caching: at most four breakpoints in a request. Two stay
// free for the messages.
const systemBreakpoints = 2

// encode writes the body of r. The messages are put into it beside the SDK's
// parameters, because the SDK rewrites raw JSON on its way (it escapes <, >
// and &), and a replayed block must not change by a byte.
func (m *Model) encode(r llm.Request) ([]byte, error) {
	messages, err := m.messagesJSON(r.Messages)
	if err != nil {
		return nil, err
	}
	p := sdk.MessageNewParams{
		Model:     m.o.Model,
		MaxTokens: int64(m.maxTokens(r)),
		System:    system(r.System),
		Tools:     tools(r.Tools),
	}
	m.think(&p, r)
	m.sample(&p, r)
	if len(r.Tools) > 0 {
		p.ToolChoice = choice(r.Choice)
	}
	if r.CacheKey != "" {
		p.Metadata = sdk.MetadataParam{UserID: param.NewOpt(r.CacheKey)}
	}
	head, err := p.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	head, ok := bytes.CutPrefix(head, []byte("{"))
	if !ok || len(messages) == 0 {
		return nil, errors.New("encode request: no messages")
	}
	body := bytes.NewBuffer(make([]byte, 0, len(head)+len(messages)+32))
	body.WriteString(`{"messages":`)
	body.Write(messages)
	body.WriteByte(',')
	body.Write(head)
	return body.Bytes(), nil
}

// maxTokens is what r asks for, but no more than the model gives.
func (m *Model) maxTokens(r llm.Request) int {
	if r.MaxTokens <= 0 {
		return m.info.MaxOutput
	}
	if m.info.MaxOutput > 0 {
		return min(r.MaxTokens, m.info.MaxOutput)
	}
	return r.MaxTokens
}

// system is the system blocks in order, the last two of those that ask for it
// with a breakpoint. Empty blocks are refused by the API and left out.
func system(blocks []llm.SystemBlock) []sdk.TextBlockParam {
	var out []sdk.TextBlockParam
	free := systemBreakpoints
	for _, b := range blocks {
		if b.Text != "" {
			out = append(out, sdk.TextBlockParam{Text: b.Text})
		}
	}
	next := len(out)
	for i := len(blocks) - 1; i >= 0 && free > 0; i-- {
		if blocks[i].Text == "" {
			continue
		}
		next--
		if blocks[i].Cache {
			out[next].CacheControl = sdk.NewCacheControlEphemeralParam()
			free--
		}
	}
	return out
}

func tools(ds []llm.Definition) []sdk.ToolUnionParam {
	var out []sdk.ToolUnionParam
	for _, d := range ds {
		t := sdk.ToolParam{Name: d.Name}
		if d.Description != "" {
			t.Description = param.NewOpt(d.Description)
		}
		t.InputSchema = param.Override[sdk.ToolInputSchemaParam](schema(d.Schema))
		out = append(out, sdk.ToolUnionParam{OfTool: &t})
	}
	return out
}

// schema is a tool's schema as it stands; a tool without one takes no
// arguments.
func schema(s json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(s)) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return s
}

func choice(c llm.ToolChoice) sdk.ToolChoiceUnionParam {
	switch c {
	case llm.None:
		return sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	case llm.Required:
		return sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	default:
		return sdk.ToolChoiceUnionParam{}
	}
}

// budgets are the thinking tokens that stand for an effort on models that are
// told a number.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 31_999}

// leastBudget is the smallest number of thinking tokens that the API takes.
const leastBudget = 1024

// think asks for thinking when r names an effort, in the model's own way.
// Forced tool use excludes it on models that can be without.
func (m *Model) think(p *sdk.MessageNewParams, r llm.Request) {
	if r.Effort == "" {
		return
	}
	if m.info.Effort {
		p.OutputConfig = sdk.OutputConfigParam{Effort: sdk.OutputConfigEffort(r.Effort)}
	}
	if r.Choice == llm.Required && len(r.Tools) > 0 {
		return
	}
	switch m.info.Thinking {
	case llm.AdaptiveThinking, llm.AlwaysThinking:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
	case llm.BudgetThinking:
		budget := min(budgets[r.Effort], int(p.MaxTokens)/2)
		if budget >= leastBudget {
			p.Thinking = sdk.ThinkingConfigParamUnion{OfEnabled: &sdk.ThinkingConfigEnabledParam{BudgetTokens: int64(budget)}}
		}
	}
}

// sample sets temperature and top_p where the model takes them; with thinking
// it does not.
func (m *Model) sample(p *sdk.MessageNewParams, r llm.Request) {
	if !m.info.Sampling || !param.IsOmitted(p.Thinking) {
		return
	}
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.TopP != nil && r.Temperature == nil { // newer models refuse both at once
		p.TopP = param.NewOpt(*r.TopP)
	}
}
