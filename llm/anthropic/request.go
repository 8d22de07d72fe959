package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"

	"parley/llm"
)

// Claude API, prompt caching: at most four breakpoints in a request. Two stay
// free for the messages.
const systemBreakpoints = 2

// settings are a request without its messages.
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
	Tools        []tool        `json:"tools,omitempty"`
	Stream       bool          `json:"stream"`
}

type metadata struct {
	UserID string `json:"user_id"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type thinking struct {
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Type         string `json:"type"`
}

type toolChoice struct {
	Type string `json:"type"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// encode writes the body of r. The messages are put into it beside the
// settings, because encoding/json takes the spaces out of raw JSON on its way,
// and a replayed block must not change by a byte.
func (m *Model) encode(r llm.Request) ([]byte, error) {
	messages, err := m.messagesJSON(r.Messages)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, errors.New("encode request: no messages")
	}
	head, err := marshalUnescaped(m.settings(r))
	if err != nil {
		return nil, err
	}
	const first = `{"messages":`
	body := make([]byte, 0, len(first)+len(messages)+len(head))
	body = append(append(body, first...), messages...)
	body = append(body, ',')
	return append(body, head[1:]...), nil
}

func (m *Model) settings(r llm.Request) settings {
	s := settings{
		Model:     m.Name(),
		MaxTokens: m.MaxTokens(r),
		System:    encodeSystem(r.System),
		Tools:     encodeTools(r.Tools),
		Stream:    true,
	}
	m.setThinking(&s, r)
	m.setSampling(&s, r)
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
func encodeSystem(blocks []llm.SystemBlock) []block {
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
			out[next].Cache = &cacheControl{Type: "ephemeral"}
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

// budgets are the thinking tokens that stand for an effort on models that are
// told a number.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 31_999}

// minBudget is the smallest number of thinking tokens that the API takes.
const minBudget = 1024

// setThinking asks for thinking when r names an effort, in the model's own way.
// Forced tool use excludes it on models that can be without.
func (m *Model) setThinking(s *settings, r llm.Request) {
	if r.Effort == "" {
		return
	}
	if m.Info().Effort {
		s.OutputConfig = &outputConfig{Effort: r.Effort}
	}
	if r.Choice == llm.Required && len(r.Tools) > 0 {
		return
	}
	switch m.Info().Thinking {
	case llm.AdaptiveThinking, llm.AlwaysThinking:
		s.Thinking = &thinking{Type: "adaptive"}
	case llm.BudgetThinking:
		budget := min(budgets[r.Effort], s.MaxTokens/2)
		if budget >= minBudget {
			s.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
		}
	}
}

// setSampling sets temperature and top_p where the model takes them; with thinking
// it does not.
func (m *Model) setSampling(s *settings, r llm.Request) {
	if !m.Info().Sampling || s.Thinking != nil {
		return
	}
	s.Temperature = r.Temperature
	if r.Temperature == nil { // newer models refuse both at once
		s.TopP = r.TopP
	}
}
