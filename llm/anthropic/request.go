package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"parley/llm"
)

// Claude API, prompt caching: at most four breakpoints in a request. Two stay
// free for the messages.
const systemBreakpoints = 2

// settings are a request without its messages and its tools.
type settings struct {
	MaxTokens    int           `json:"max_tokens"`
	Model        string        `json:"model"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Metadata     *metadata     `json:"metadata,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	System       []block       `json:"system,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
}

type metadata struct {
	UserID string `json:"user_id"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type thinking struct {
	Binding      *binding `json:"block_binding,omitempty"`
	BudgetTokens int      `json:"budget_tokens,omitempty"`
	Display      string   `json:"display,omitempty"`
	Type         string   `json:"type"`
}

// binding says what becomes of thinking in the history that stands behind something else
// than it did.
type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

type toolChoice struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// asStream ends a request.
const asStream = `"stream":true}`

// encode writes the body of r, in pieces of which other requests have some, too. The messages are
// put into it beside the settings, because encoding/json takes the spaces out of raw JSON on its
// way, and a replayed block must not change by a byte; so are the tools, which are written once.
//
// While a model thinks by a number of tokens, the API takes no calls that stand in a last
// message without thinking before them. There the model does not think until the turn ends,
// as the API's own error recommends.
func (m *Model) encode(r llm.Request) (pieces [][]byte, err error) {
	prefix, messages, unthought, err := m.messagesJSON(r)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, errors.New("encode request: no messages")
	}
	settings := m.settings(r)
	if t := settings.Thinking; unthought && t != nil && t.Type == budgeted {
		settings.Thinking = nil
	}
	head, err := marshalUnescaped(settings)
	if err != nil {
		return nil, err
	}
	pieces = [][]byte{prefix, messages, []byte("],"), head[1 : len(head)-1]}
	if len(r.Tools) > 0 {
		tools, err := m.ToolsJSON(r.Tools, toolsJSON)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, tools)
	}
	return append(pieces, []byte(","+asStream)), nil
}

// toolsJSON returns the field of a request that has the tools, with the comma before it.
func toolsJSON(ds []llm.Definition) ([]byte, error) {
	raw, err := marshalUnescaped(encodeTools(ds))
	if err != nil {
		return nil, err
	}
	return append([]byte(`,"tools":`), raw...), nil
}

func (m *Model) settings(r llm.Request) settings {
	s := settings{
		Model:     m.Name(),
		MaxTokens: m.MaxTokens(r),
		System:    encodeSystem(r.System, r.CacheTTL),

		Temperature: r.Temperature,
		TopP:        r.TopP,
	}
	if r.Effort != "" {
		s.OutputConfig = &outputConfig{Effort: r.Effort}
	}
	s.Thinking = m.thinking(r, s.MaxTokens)
	if len(r.Tools) > 0 {
		s.ToolChoice = encodeToolChoice(r.Choice)
	}
	if r.CacheKey != "" {
		s.Metadata = &metadata{UserID: r.CacheKey}
	}
	return s
}

// encodeSystem is the system blocks in order, the last two of those that ask for it
// with a breakpoint. Empty blocks are refused by the API and left out.
func encodeSystem(blocks []llm.SystemBlock, ttl string) []block {
	var out []block
	free := systemBreakpoints
	for _, b := range blocks {
		if b.Text != "" {
			out = append(out, block{Type: "text", Text: b.Text})
		}
	}
	next := len(out)
	for i := len(blocks) - 1; i >= 0 && free > 0; i-- {
		if blocks[i].Text == "" {
			continue
		}
		next--
		if blocks[i].Cache {
			out[next].Cache = breakpoint(ttl)
			free--
		}
	}
	return out
}

func encodeTools(ds []llm.Definition) []tool {
	var out []tool
	for _, d := range ds {
		out = append(out, tool{Name: d.Name, Description: d.Description, InputSchema: schemaOrEmpty(d.Schema)})
	}
	return out
}

// schemaOrEmpty returns a tool's schema as it stands; a tool without one takes no
// arguments.
func schemaOrEmpty(s json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(s)) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return s
}

func encodeToolChoice(c llm.ToolChoice) *toolChoice {
	switch c {
	case llm.None:
		return &toolChoice{Type: "none"}
	case llm.Required:
		return &toolChoice{Type: "any"}
	default:
		return nil
	}
}

// minBudget is the smallest number of thinking tokens that the API takes.
const minBudget = 1024

// budgeted is the type of thinking by a number of tokens.
const budgeted = "enabled"

// thinking returns how the model is asked to think; nil: nothing is said about it. Forced
// tool use excludes it.
func (m *Model) thinking(r llm.Request, maxTokens int) *thinking {
	rules := m.Info().Thinking
	switch {
	case r.Choice == llm.Required && len(r.Tools) > 0:
		return nil
	case r.Thinking == llm.NoThinking:
		return &thinking{Type: cmp.Or(rules.Off, "disabled")}
	case r.Thinking == llm.Budgeted:
		budget := r.Budget
		if budget >= maxTokens { // it is part of them
			if budget = maxTokens / 2; budget < minBudget {
				return nil
			}
		}
		return &thinking{Type: budgeted, BudgetTokens: budget, Display: display(r)}
	case r.Thinking == llm.AdaptiveThinking, rules.Unasked && r.Summary != "", rules.Bound:
		t := &thinking{Type: "adaptive", Display: display(r)}
		if rules.Bound {
			t.Binding = &binding{"drop_block"}
		}
		return t
	default:
		return nil
	}
}

// display returns how thinking is shown; "": as the model does it unasked.
func display(r llm.Request) string {
	if r.Summary == "" {
		return ""
	}
	return "summarized"
}

// sendsThinking reports whether thinking of the history goes back. Without thinking nothing
// can be said about what becomes of it where something before it has changed: the system
// message of another day, results that were cut, a summary.
func (m *Model) sendsThinking(r llm.Request) bool {
	return r.Thinking != llm.NoThinking || !m.Info().Thinking.Bound
}
