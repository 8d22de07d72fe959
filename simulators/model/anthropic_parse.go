package model

import (
	"encoding/json"
	"strings"
)

type anthropicRequest struct {
	Model        string             `json:"model"`
	MaxTokens    *int               `json:"max_tokens"`
	Messages     []anthropicMessage `json:"messages"`
	System       json.RawMessage    `json:"system"`
	Tools        []json.RawMessage  `json:"tools"`
	ToolChoice   json.RawMessage    `json:"tool_choice"`
	Thinking     json.RawMessage    `json:"thinking"`
	Stream       bool               `json:"stream"`
	OutputConfig json.RawMessage    `json:"output_config"`
	Temperature  *float64           `json:"temperature"`
	TopK         *float64           `json:"top_k"`
	TopP         *float64           `json:"top_p"`
	Metadata     json.RawMessage    `json:"metadata"` // without effect
}

// anthropicWithout are keys that are known, and of no effect here.
var anthropicWithout = strings.Fields(`cache_control container context_management diagnostics inference_geo service_tier speed
	stop_sequences`)

type anthropicMessage struct {
	Role    Role            `json:"role"`
	Content json.RawMessage `json:"content"`
}

type anthropicBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"`
	IsError      bool            `json:"is_error"`
	CacheControl *cacheControl   `json:"cache_control"`
	Source       json.RawMessage `json:"source"`

	raw json.RawMessage
}

// pictures returns the picture that an image block holds.
func (b *anthropicBlock) pictures() []Picture {
	var source struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	if b.Type != "image" || json.Unmarshal(b.Source, &source) != nil {
		return nil
	}
	return decodePicture(source.MediaType, source.Data)
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

func (c *cacheControl) ttl() ttl {
	switch {
	case c == nil:
		return noCache
	case c.TTL == "1h":
		return oneHour
	default:
		return fiveMinutes
	}
}

func (s *Server) parseAnthropic(p *Prompt) {
	var q anthropicRequest
	unknown, err := decode(p.Body, &q, anthropicWithout...)
	if err != nil {
		if field, kind, ok := wrongType(err); ok {
			panic(invalid(pathf("%s: Input should be a valid %s", field, kind)))
		}
		panic(invalid("The request body is not valid JSON: " + err.Error()))
	}
	p.Model, p.Stream = q.Model, q.Stream
	if unknown != "" {
		panic(invalid(unknown + ": Extra inputs are not permitted"))
	}
	switch {
	case q.Model == "":
		panic(invalid("model: Field required"))
	case q.MaxTokens == nil:
		panic(invalid("max_tokens: Field required"))
	case *q.MaxTokens < 1:
		panic(invalid("max_tokens: must be greater than or equal to 1"))
	case q.Messages == nil:
		panic(invalid("messages: Field required"))
	case len(q.Messages) == 0:
		panic(invalid("messages: at least one message is required"))
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 1):
		panic(invalid("temperature: range: 0..1"))
	case q.TopP != nil && (*q.TopP < 0 || *q.TopP > 1):
		panic(invalid("top_p: range: 0..1"))
	}
	p.MaxTokens = *q.MaxTokens
	p.anthropicTools(&q, s.tools)
	p.anthropicThinking(&q)
	p.anthropicSystem(q.System)
	all := make([][]anthropicBlock, len(q.Messages))
	for i := range q.Messages {
		all[i] = p.anthropicMessage(i, &q.Messages[i])
	}
	s.judgeAnthropic(p, all)
}

func (p *Prompt) anthropicTools(q *anthropicRequest, known *knownTools) {
	seen := map[string]bool{}
	for i, raw := range q.Tools {
		t := known.read(Anthropic, raw, func(raw json.RawMessage) knownTool { return anthropicTool(i, raw) })
		if seen[t.Name] {
			panic(invalid("tools: Tool names must be unique."))
		}
		seen[t.Name] = true
		p.tool(t)
	}
	if !hasValue(q.ToolChoice) {
		return
	}
	var c struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		OnlyOne bool   `json:"disable_parallel_tool_use"`
	}
	if json.Unmarshal(q.ToolChoice, &c) != nil {
		panic(invalid("tool_choice: Input should be a valid dictionary"))
	}
	mode, ok := map[string]ChoiceMode{"auto": ChoiceAuto, "none": ChoiceNone, "any": ChoiceRequired, "tool": ChoiceNamed}[c.Type]
	switch {
	case !ok:
		panic(invalid(pathf("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", c.Type)))
	case len(q.Tools) == 0:
		panic(invalid("tool_choice may only be specified while providing tools."))
	case mode == ChoiceNamed && !seen[c.Name]:
		panic(invalid(pathf("Tool '%s' not found in provided tools", c.Name)))
	}
	p.Choice = Choice{Mode: mode, Name: c.Name, OnlyOne: c.OnlyOne}
}

// anthropicTool reads tool i of a request.
func anthropicTool(i int, raw json.RawMessage) knownTool {
	var t struct {
		Type         string          `json:"type"`
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *cacheControl   `json:"cache_control"`
	}
	if json.Unmarshal(raw, &t) != nil {
		panic(invalid(pathf("tools.%d: Input should be a valid dictionary", i)))
	}
	if t.Type == "" || t.Type == "custom" {
		switch {
		case !isToolName(t.Name, 128):
			panic(invalid(pathf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)))
		case !hasValue(t.InputSchema):
			panic(invalid(pathf("tools.%d.custom.input_schema: Field required", i)))
		case !isObjectSchema(t.InputSchema):
			panic(invalid(pathf("tools.%d.custom.input_schema.type: Input should be 'object'", i)))
		}
	}
	return knownTool{Tool: Tool{t.Name, t.Description, t.InputSchema}, cache: t.CacheControl.ttl()}
}

type anthropicThinking struct {
	Type    string          `json:"type"`
	Budget  *int            `json:"budget_tokens"`
	Display *string         `json:"display"`
	Binding json.RawMessage `json:"block_binding"`
}

// anthropicThinking judges whether and how the model is to think, and what excludes it.
func (p *Prompt) anthropicThinking(q *anthropicRequest) {
	var t anthropicThinking
	if hasValue(q.Thinking) {
		if unknown, err := decode(q.Thinking, &t); err != nil {
			panic(invalid("thinking: Input should be a valid dictionary"))
		} else if unknown != "" {
			panic(invalid(pathf("thinking.%s.%s: Extra inputs are not permitted", t.Type, unknown)))
		}
		p.judgeThinkingForm(&t)
	}
	var output struct {
		Effort string `json:"effort"`
	}
	if hasValue(q.OutputConfig) && json.Unmarshal(q.OutputConfig, &output) != nil {
		panic(invalid("output_config: Input should be a valid dictionary"))
	}
	rules, known := longestPrefix(claudes, p.Model)
	if known {
		rules.judgeEffort(output.Effort)
		rules.judgeThinking(t.Type, output.Effort)
	}
	p.manual = t.Type == "enabled"
	p.Thinking = p.manual || t.Type == "adaptive" || t.Type == "" && rules.unasked
	p.strict = p.manual || p.Thinking && !known
	p.bound = rules.bound
	if omitted := "omitted"; p.display == nil && known && !rules.sampling { // as of Claude 4.7
		p.display = &omitted
	}
	p.settings = t.Type + " " + output.Effort
	if t.Type == "adaptive" && rules.unasked { // as if it was not there
		p.settings = " " + output.Effort
	}
	if p.manual {
		p.settings += " " + pathf("%d", *t.Budget)
	}
	if p.Choice.Mode != ChoiceAuto {
		p.settings += " " + string(p.Choice.Mode) + " " + p.Choice.Name
	}
	forced := p.Choice.Mode == ChoiceRequired || p.Choice.Mode == ChoiceNamed
	if forced && (rules.unforced || t.Type != "" && p.Thinking) {
		panic(invalid("Thinking may not be enabled when tool_choice forces tool use."))
	}
	p.judgeSampling(q, rules, known)
}

// judgeThinkingForm refuses what is wrong with a thinking parameter on every model.
func (p *Prompt) judgeThinkingForm(t *anthropicThinking) {
	switch t.Type {
	case "disabled", "between_tools":
		if t.Display != nil || hasValue(t.Binding) {
			panic(invalid(pathf("thinking.%s: Extra inputs are not permitted", t.Type)))
		}
	case "adaptive":
		if t.Budget != nil {
			panic(invalid("thinking.adaptive.budget_tokens: Extra inputs are not permitted"))
		}
	case "enabled":
		switch {
		case t.Budget == nil:
			panic(invalid("thinking.enabled.budget_tokens: Field required"))
		case *t.Budget < 1024:
			panic(invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"))
		case *t.Budget >= p.MaxTokens:
			panic(invalid("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"))
		}
	default:
		panic(invalid(pathf("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'", t.Type)))
	}
	if t.Display != nil && *t.Display != "summarized" && *t.Display != "omitted" {
		panic(invalid(pathf("thinking.%s.display: Input should be 'summarized' or 'omitted'", t.Type)))
	}
	p.display = t.Display
	if !hasValue(t.Binding) {
		return
	}
	if !p.bindingControls {
		panic(invalid(pathf("thinking.%s.block_binding: Extra inputs are not permitted", t.Type)))
	}
	var binding struct {
		Mismatch string `json:"prefix_mismatch_behavior"`
	}
	if json.Unmarshal(t.Binding, &binding) != nil || !takes("error drop_block", binding.Mismatch) {
		panic(invalid(pathf("thinking.%s.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'", t.Type)))
	}
	p.dropUnbound = binding.Mismatch == "drop_block"
}

func (p *Prompt) anthropicSystem(raw json.RawMessage) {
	if !hasValue(raw) {
		return
	}
	if isString(raw) {
		p.System = unquote(raw)
		p.segment("system", []byte(p.System), noCache)
		return
	}
	var blocks []anthropicBlock
	if json.Unmarshal(raw, &blocks) != nil {
		panic(invalid("system: Input should be a valid list"))
	}
	texts := make([]string, 0, len(blocks))
	for i, b := range blocks {
		if b.Type != "text" {
			panic(invalid(pathf("system.%d.type: Input should be 'text'", i)))
		}
		if b.Text == "" {
			panic(invalid("system: text content blocks must be non-empty"))
		}
		texts = append(texts, b.Text)
		p.segment("system", []byte(b.Text), b.CacheControl.ttl())
	}
	p.System = strings.Join(texts, "\n\n")
}

// anthropicMessage reads message i and returns the blocks that it holds.
func (p *Prompt) anthropicMessage(i int, m *anthropicMessage) (blocks []anthropicBlock) {
	switch m.Role {
	case User, Assistant:
	case "system":
		panic(invalid(`messages: Unexpected role "system". The Messages API accepts a top-level ` + "`system`" + ` parameter, not "system" as an input message role.`))
	case "":
		panic(invalid(pathf("messages.%d.role: Field required", i)))
	default:
		panic(invalid(pathf("messages.%d.role: Input should be 'user' or 'assistant'", i)))
	}
	switch raw := m.Content; {
	case !hasValue(raw):
		panic(invalid(pathf("messages.%d.content: Field required", i)))
	case isString(raw):
		text := unquote(raw)
		if text == "" {
			panic(emptyMessage(i))
		}
		blocks = []anthropicBlock{{Type: "text", Text: text}}
	case isArray(raw):
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			panic(invalid(pathf("messages.%d.content: Input should be a valid list", i)))
		}
		if len(parts) == 0 {
			panic(emptyMessage(i))
		}
		blocks = make([]anthropicBlock, len(parts))
		for j, part := range parts {
			b := &blocks[j]
			if json.Unmarshal(part, b) != nil {
				panic(invalid(pathf("messages.%d.content.%d: Input should be a valid dictionary or object to extract fields from", i, j)))
			}
			b.raw = part
		}
	default:
		panic(invalid(pathf("messages.%d.content: Input should be a valid list", i)))
	}
	p.Messages = append(p.Messages, Message{Role: m.Role})
	p.starts = append(p.starts, len(p.segments))
	p.anthropicBlocks(i, m.Role, blocks)
	return blocks
}

func emptyMessage(i int) *Refusal {
	return invalid(pathf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i))
}

// blockRoles are the kinds of blocks that only one role may send.
var blockRoles = map[string]Role{
	"thinking": Assistant, "redacted_thinking": Assistant, "tool_use": Assistant, "tool_result": User,
}

// anthropicBlocks takes over the blocks of message i.
func (p *Prompt) anthropicBlocks(i int, role Role, blocks []anthropicBlock) {
	m := &p.Messages[i]
	for j := range blocks {
		b := &blocks[j]
		if of, ok := blockRoles[b.Type]; ok && of != role {
			panic(invalid(pathf("messages.%d.content.%d: `%s` blocks can only be in `%s` messages", i, j, b.Type, of)))
		}
		var text []byte
		switch b.Type {
		case "text":
			if b.Text == "" {
				panic(invalid("messages: text content blocks must be non-empty"))
			}
			if isBlank(b.Text) {
				panic(invalid("messages: text content blocks must contain non-whitespace text"))
			}
			m.paragraph(b.Text)
			text = []byte(b.Text)
		case "thinking":
			m.Thinking += b.Thinking
			text = []byte(b.Thinking)
		case "redacted_thinking":
			text = []byte(b.Data)
		case "tool_use":
			checkToolUse(i, j, b)
			m.Calls = append(m.Calls, Call{b.ID, b.Name, b.Input})
			text = append([]byte(b.Name), b.Input...)
		case "tool_result":
			p.anthropicResult(i, j, b)
			text = b.Content
		case "":
			panic(invalid(pathf("messages.%d.content.%d.type: Field required", i, j)))
		case "image", "document", "search_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
			"code_execution_tool_result", "container_upload", "compaction":
			text = withoutKeys(b.raw, []string{"cache_control"})
			m.Others++
			m.Pictures = append(m.Pictures, b.pictures()...)
		default:
			panic(invalid(pathf("messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags", i, j, b.Type)))
		}
		p.segment(string(role)+" "+b.Type, text, b.CacheControl.ttl())
		p.segments[len(p.segments)-1].signature = b.Signature + b.Data
	}
}

func checkToolUse(i, j int, b *anthropicBlock) {
	switch {
	case !isToolName(b.ID, 1<<10):
		panic(invalid(pathf("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j)))
	case !isToolName(b.Name, 200):
		panic(invalid(pathf("messages.%d.content.%d.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'", i, j)))
	case !hasValue(b.Input):
		panic(invalid(pathf("messages.%d.content.%d.tool_use.input: Field required", i, j)))
	case !isObject(b.Input):
		panic(invalid(pathf("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)))
	}
}

// anthropicResult takes over a tool_result block.
func (p *Prompt) anthropicResult(i, j int, b *anthropicBlock) {
	if b.ToolUseID == "" {
		panic(invalid(pathf("messages.%d.content.%d.tool_result.tool_use_id: Field required", i, j)))
	}
	text := ""
	switch {
	case !hasValue(b.Content):
	case isString(b.Content):
		text = unquote(b.Content)
	default:
		var parts []anthropicBlock
		if json.Unmarshal(b.Content, &parts) != nil {
			panic(invalid(pathf("messages.%d.content.%d.tool_result.content: Input should be a valid list", i, j)))
		}
		for _, part := range parts {
			if part.Type == "text" && part.Text == "" {
				panic(invalid("messages: text content blocks must be non-empty"))
			}
			text += part.Text
		}
	}
	m := &p.Messages[i]
	m.Results = append(m.Results, Result{CallID: b.ToolUseID, Text: text, Error: b.IsError})
}
