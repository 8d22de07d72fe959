package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"parley/llm"
	"parley/llm/wire"
	"parley/transcript"
)

func (m *Model) params(r llm.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         m.o.Model,
		Messages:      m.messages(r),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if most := int64(m.maxTokens(r)); m.o.LegacyMaxTokens {
		p.MaxTokens = param.NewOpt(most)
	} else {
		p.MaxCompletionTokens = param.NewOpt(most)
	}
	if m.info.Sampling {
		if r.Temperature != nil {
			p.Temperature = param.NewOpt(*r.Temperature)
		}
		if r.TopP != nil {
			p.TopP = param.NewOpt(*r.TopP)
		}
	}
	if m.info.Effort && r.Effort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(r.Effort)
	}
	if m.o.PromptCacheKey && r.CacheKey != "" {
		p.PromptCacheKey = param.NewOpt(r.CacheKey)
	}
	p.ServiceTier = sdk.ChatCompletionNewParamsServiceTier(m.tier())
	for _, d := range r.Tools {
		p.Tools = append(p.Tools, tool(d))
	}
	if len(p.Tools) > 0 && r.Choice != llm.Auto {
		p.ToolChoice.OfAuto = param.NewOpt(string(r.Choice))
	}
	return p
}

func tool(d llm.Definition) sdk.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: d.Name}
	if d.Description != "" {
		f.Description = param.NewOpt(d.Description)
	}
	if schema := d.Schema; len(schema) > 0 {
		f.SetExtraFields(map[string]any{"parameters": schema})
	}
	return sdk.ChatCompletionFunctionTool(f)
}

func (m *Model) messages(r llm.Request) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	var system []string
	for _, b := range r.System {
		if b.Text != "" {
			system = append(system, b.Text)
		}
	}
	if len(system) > 0 {
		out = append(out, sdk.SystemMessage(strings.Join(system, "\n\n")))
	}
	said := 0
	for _, h := range r.Messages {
		var next []sdk.ChatCompletionMessageParamUnion
		if h.Role == transcript.Assistant {
			next = m.assistant(h)
		} else {
			next = m.others(h)
		}
		said += len(next)
		out = append(out, next...)
	}
	if said == 0 {
		return nil
	}
	return out
}

// others is a user or tool message: first one message for each result, then
// one with everything else.
func (m *Model) others(h transcript.Message) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	var parts []sdk.ChatCompletionContentPartUnionParam
	var words []string
	plain := true
	text := func(s string) {
		if s != "" {
			words = append(words, s)
			parts = append(parts, sdk.TextContentPart(s))
		}
	}
	image := func(url, detail string) {
		plain = false
		parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: url, Detail: detail}))
	}
	for _, p := range h.Parts {
		switch p := p.(type) {
		case transcript.Text:
			text(p.Text)
		case transcript.ToolResult:
			out = append(out, sdk.ToolMessage(p.Content, wire.SafeID(p.ToolCallID)))
		case transcript.Binary:
			if m.info.Vision && strings.HasPrefix(p.MIMEType, "image/") && len(p.Data) > 0 {
				image("data:"+p.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(p.Data), "")
			} else {
				text(wire.Mention(p))
			}
		case transcript.ImageURL:
			if m.info.Vision {
				image(p.URL, p.Detail)
			} else {
				text("[picture: " + p.URL + "]")
			}
		}
	}
	switch {
	case len(parts) == 0:
	case plain: // small servers take only a string
		out = append(out, sdk.UserMessage(strings.Join(words, "\n")))
	default:
		out = append(out, sdk.UserMessage(parts))
	}
	return out
}

// assistant is what the model said: in the provider's own words when they come
// from this provider and model, else rebuilt from the parts, without thinking.
func (m *Model) assistant(h transcript.Message) []sdk.ChatCompletionMessageParamUnion {
	if n := m.native(h); len(n) == 1 && itemType(n[0]) == "" {
		raw := n[0]
		if m.o.DropReasoning {
			raw = withoutReasoning(raw)
		}
		return []sdk.ChatCompletionMessageParamUnion{
			param.Override[sdk.ChatCompletionMessageParamUnion](raw),
		}
	}
	var words []string
	var calls []nativeCall
	for _, p := range h.Parts {
		switch p := p.(type) {
		case transcript.Text:
			if p.Text != "" {
				words = append(words, p.Text)
			}
		case transcript.ToolCall:
			calls = append(calls, newNativeCall(p))
		}
	}
	if len(words)+len(calls) == 0 {
		return nil
	}
	raw, err := literal(nativeMessage(strings.Join(words, "\n"), calls, nil))
	if err != nil {
		return nil
	}
	return []sdk.ChatCompletionMessageParamUnion{param.Override[sdk.ChatCompletionMessageParamUnion](raw)}
}

// arguments is a call's input as the text of a JSON object, whatever the model
// wrote. (F10)
func arguments(s string) string {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return s
	}
	if trimmed == "" {
		return "{}"
	}
	raw, _ := literal(map[string]string{"_raw": s}) // a map of strings always encodes
	return string(raw)
}
