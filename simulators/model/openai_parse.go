package model

import (
	"encoding/json"
	"slices"
	"strings"
)

type openaiRequest struct {
	Model         string             `json:"model"`
	Messages      []openaiMessage    `json:"messages"`
	Tools         *[]json.RawMessage `json:"tools"`
	ToolChoice    json.RawMessage    `json:"tool_choice"`
	Parallel      *bool              `json:"parallel_tool_calls"`
	MaxTokens     *int               `json:"max_tokens"`
	MaxCompletion *int               `json:"max_completion_tokens"`
	Stream        bool               `json:"stream"`
	StreamOptions *streamOptions     `json:"stream_options"`
	Effort        *string            `json:"reasoning_effort"`
	N             *int               `json:"n"`
	Temperature   *float64           `json:"temperature"`
	TopP          *float64           `json:"top_p"`

	CacheKey json.RawMessage `json:"prompt_cache_key"` // without effect
	Tier     json.RawMessage `json:"service_tier"`     // without effect
}

// openaiWithout are keys that are known, and of no effect here.
var openaiWithout = strings.Fields(`audio frequency_penalty function_call functions logit_bias logprobs metadata modalities moderation prediction
	presence_penalty prompt_cache_options prompt_cache_retention response_format
	safety_identifier seed stop store top_logprobs user verbosity web_search_options`)

type streamOptions struct {
	IncludeUsage       bool  `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

// openaiMessage also knows what compatible servers and answers put into a
// message.
type openaiMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    json.RawMessage `json:"refusal"`
	ToolCalls  *[]openaiCall   `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`

	Name         json.RawMessage `json:"name"`
	Audio        json.RawMessage `json:"audio"`
	FunctionCall json.RawMessage `json:"function_call"`
	Annotations  json.RawMessage `json:"annotations"`
}

type openaiCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Index    json.RawMessage `json:"index"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
	Custom json.RawMessage `json:"custom"`
}

func (s *Server) parseOpenAI(p *Prompt) {
	var q openaiRequest
	unknown := openaiBody(p.Body, &q, openaiWithout)
	p.Model, p.Stream = q.Model, q.Stream
	if unknown != "" {
		panic(invalid("Unrecognized request argument supplied: " + unknown))
	}
	switch {
	case q.Model == "":
		panic(invalid("you must provide a model parameter"))
	case q.Messages == nil:
		panic(invalidParam("messages", "missing_required_parameter", "Missing required parameter: 'messages'."))
	case len(q.Messages) == 0:
		panic(invalidParam("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."))
	case q.StreamOptions != nil && !q.Stream:
		panic(invalidParam("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled."))
	case q.MaxTokens != nil && q.MaxCompletion != nil:
		panic(invalidParam("max_tokens", "invalid_parameter_combination", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."))
	case q.N != nil && *q.N != 1:
		panic(invalidParam("n", "unsupported_value", "This simulated model gives one choice only."))
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2):
		panic(invalidParam("temperature", "decimal_above_max_value", "Invalid 'temperature': expected a value between 0 and 2."))
	}
	for param, n := range map[string]*int{"max_tokens": q.MaxTokens, "max_completion_tokens": q.MaxCompletion} {
		if n == nil {
			continue
		}
		if *n < 1 {
			panic(invalidParam(param, "integer_below_min_value", pathf("Invalid '%s': integer below minimum value. Expected a value >= 1, but got %d instead.", param, *n)))
		}
		p.MaxTokens = *n
	}
	p.usageInStream = q.StreamOptions != nil && q.StreamOptions.IncludeUsage
	p.judgeReasoning("reasoning_effort", q.Effort, q.Temperature, q.TopP)
	p.openaiTools(&q, s.tools)
	p.judgeChatTools()
	p.openaiMessages(q.Messages)
}

// openaiBody decodes a request to OpenAI. unknown is the first key that does not exist.
func openaiBody(body []byte, into any, without []string) (unknown string) {
	unknown, err := decode(body, into, without...)
	if field, kind, ok := wrongType(err); ok {
		panic(invalidParam(field, "invalid_type", pathf("Invalid type for '%s': expected %s, but got something else instead.", field, kind)))
	}
	if err != nil {
		panic(invalid("We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"))
	}
	return unknown
}

func (p *Prompt) openaiTools(q *openaiRequest, known *knownTools) {
	if q.Tools != nil && len(*q.Tools) == 0 {
		panic(invalidParam("tools", "empty_array", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."))
	}
	if q.Tools == nil {
		switch {
		case hasValue(q.ToolChoice):
			panic(invalidParam("tool_choice", "", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."))
		case q.Parallel != nil:
			panic(invalidParam("parallel_tool_calls", "", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."))
		}
		return
	}
	seen := map[string]bool{}
	for i, raw := range *q.Tools {
		t := known.read(OpenAI, raw, func(raw json.RawMessage) knownTool { return openaiTool(i, raw) })
		p.openaiTool(t, seen)
	}
	p.Choice.OnlyOne = q.Parallel != nil && !*q.Parallel
	p.openaiChoice(q.ToolChoice, seen)
}

// openaiTool takes over a tool.
func (p *Prompt) openaiTool(t knownTool, seen map[string]bool) {
	if seen[t.Name] {
		panic(invalidParam("tools", "", pathf("Tool names must be unique: '%s' is given more than once.", t.Name)))
	}
	seen[t.Name] = true
	p.tool(t)
}

// openaiTool reads tool i of a request.
func openaiTool(i int, raw json.RawMessage) knownTool {
	var t struct {
		Type     string `json:"type"`
		Function *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	switch err := json.Unmarshal(raw, &t); {
	case err != nil || t.Type == "":
		panic(invalidParam(pathf("tools[%d].type", i), "missing_required_parameter", pathf("Missing required parameter: 'tools[%d].type'.", i)))
	case t.Type != "function":
		panic(invalidParam(pathf("tools[%d].type", i), "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'function' and 'custom'.", t.Type)))
	case t.Function == nil:
		panic(invalidParam(pathf("tools[%d].function", i), "missing_required_parameter", pathf("Missing required parameter: 'tools[%d].function'.", i)))
	case !isToolName(t.Function.Name, 64):
		panic(invalidParam(pathf("tools[%d].function.name", i), "invalid_value", pathf("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)))
	case hasValue(t.Function.Parameters) && !isObjectSchema(t.Function.Parameters):
		panic(invalidParam(pathf("tools[%d].function.parameters", i), "invalid_function_parameters", pathf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", t.Function.Name)))
	}
	return knownTool{Tool: Tool{t.Function.Name, t.Function.Description, t.Function.Parameters}}
}

func (p *Prompt) openaiChoice(raw json.RawMessage, tools map[string]bool) {
	if !hasValue(raw) {
		return
	}
	if isString(raw) {
		mode, ok := map[string]ChoiceMode{"auto": ChoiceAuto, "none": ChoiceNone, "required": ChoiceRequired}[unquote(raw)]
		if !ok {
			panic(invalidParam("tool_choice", "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", unquote(raw))))
		}
		p.Choice.Mode = mode
		return
	}
	var c struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &c) != nil || !tools[c.Function.Name] {
		panic(invalidParam("tool_choice", "", pathf("Tool choice '%s' not found in 'tools' parameter.", c.Function.Name)))
	}
	p.Choice.Mode, p.Choice.Name = ChoiceNamed, c.Function.Name
}

// openaiMessages takes over the messages, and refuses conversations that
// OpenAI refuses.
func (p *Prompt) openaiMessages(messages []openaiMessage) {
	var (
		system  []string
		waiting []string // calls without a result yet
		names   = map[string]string{}
		seen    = map[string]bool{}
		results = map[string]int{}
	)
	for i := range messages {
		m := &messages[i]
		if m.Role == "tool" {
			switch first, again := results[m.ToolCallID]; {
			case m.ToolCallID == "":
				panic(invalidParam(pathf("messages[%d].tool_call_id", i), "missing_required_parameter", pathf("Missing required parameter: 'messages[%d].tool_call_id'.", i)))
			case again:
				panic(invalidParam(pathf("messages.[%d].tool_call_id", i), "", pathf("Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", m.ToolCallID, first, i)))
			case !slices.Contains(waiting, m.ToolCallID):
				panic(invalidParam(pathf("messages.[%d].role", i), "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")) //nolint:misspell // the provider's own words
			}
			results[m.ToolCallID] = i
			waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == m.ToolCallID })
			p.openaiResult(i, m, names[m.ToolCallID])
			continue
		}
		if len(waiting) > 0 {
			panic(waitingCalls(waiting))
		}
		text, beside := openaiContent(i, m)
		switch m.Role {
		case "system", "developer":
			system = append(system, text)
			p.segment("system", []byte(text), noCache)
			continue
		case "user":
			p.Messages = append(p.Messages, Message{Role: User, Text: text, Others: beside.others, Pictures: beside.pictures})
			p.segment("user", []byte(text), noCache)
		case "assistant":
			p.Messages = append(p.Messages, Message{Role: Assistant, Text: text, Others: beside.others})
			p.segment("assistant", []byte(text), noCache)
			waiting = p.openaiCalls(i, m, seen, names)
		case "":
			panic(invalidParam(pathf("messages[%d].role", i), "missing_required_parameter", pathf("Missing required parameter: 'messages[%d].role'.", i)))
		default:
			panic(invalidParam(pathf("messages[%d].role", i), "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)))
		}
	}
	if len(waiting) > 0 {
		panic(waitingCalls(waiting))
	}
	p.System = strings.Join(system, "\n\n")
}

func waitingCalls(ids []string) *Refusal {
	return invalidParam("messages", "", pathf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", joinIDs(ids)))
}

// openaiResult takes over a message with role tool.
func (p *Prompt) openaiResult(i int, m *openaiMessage, name string) {
	if !hasValue(m.Content) {
		panic(invalidParam(pathf("messages.[%d].content", i), "", "Invalid value for 'content': expected a string, got null."))
	}
	text, _ := openaiContent(i, m)
	p.result(Result{CallID: m.ToolCallID, Name: name, Text: text})
}

// result takes over what a tool gave back; results that follow each other are one
// message.
func (p *Prompt) result(r Result) {
	if n := len(p.Messages); n == 0 || p.Messages[n-1].Results == nil {
		p.Messages = append(p.Messages, Message{Role: User})
	}
	last := &p.Messages[len(p.Messages)-1]
	last.Results = append(last.Results, r)
	p.segment("tool result", []byte(r.Text), noCache)
}

// openaiCalls takes over the calls of an assistant's message.
func (p *Prompt) openaiCalls(i int, m *openaiMessage, seen map[string]bool, names map[string]string) []string {
	if m.ToolCalls == nil {
		return nil
	}
	if len(*m.ToolCalls) == 0 {
		panic(invalidParam(pathf("messages[%d].tool_calls", i), "empty_array", pathf("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", i)))
	}
	var ids []string
	last := &p.Messages[len(p.Messages)-1]
	for j := range *m.ToolCalls {
		c := &(*m.ToolCalls)[j]
		where := pathf("messages[%d].tool_calls[%d]", i, j)
		switch {
		case c.ID == "":
			panic(invalidParam(where+".id", "missing_required_parameter", "Missing required parameter: '"+where+".id'."))
		case c.Type != "function":
			panic(invalidParam(where+".type", "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'function' and 'custom'.", c.Type)))
		case !isToolName(c.Function.Name, 64):
			panic(invalidParam(where+".function.name", "invalid_value", "Invalid '"+where+".function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."))
		case c.Function.Arguments == nil:
			panic(invalidParam(where+".function.arguments", "missing_required_parameter", "Missing required parameter: '"+where+".function.arguments'."))
		case seen[c.ID]:
			panic(invalidParam(where+".id", "", "Invalid parameter: Duplicate value for 'tool_calls[].id' of '"+c.ID+"'."))
		}
		seen[c.ID], names[c.ID] = true, c.Function.Name
		ids = append(ids, c.ID)
		last.Calls = append(last.Calls, Call{c.ID, c.Function.Name, json.RawMessage(*c.Function.Arguments)})
		p.segment("call", []byte(c.Function.Name+*c.Function.Arguments), noCache)
	}
	return ids
}

// enclosed is what a message holds beside its text.
type enclosed struct {
	others   int
	pictures []Picture
}

// openaiContent reads the content of message i: its text, and what else it holds.
func openaiContent(i int, m *openaiMessage) (text string, beside enclosed) {
	raw := m.Content
	switch {
	case !hasValue(raw):
		if m.Role == "assistant" && (m.ToolCalls != nil || hasValue(m.Refusal) || hasValue(m.FunctionCall) || hasValue(m.Audio)) {
			return "", enclosed{}
		}
		panic(invalidParam(pathf("messages.[%d].content", i), "", "Invalid value for 'content': expected a string, got null."))
	case isString(raw):
		return unquote(raw), enclosed{}
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		Refusal  string  `json:"refusal"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		panic(invalidParam(pathf("messages[%d].content", i), "invalid_type", pathf("Invalid type for 'messages[%d].content': expected one of a string or array of objects, but got something else instead.", i)))
	}
	if len(parts) == 0 {
		panic(invalidParam(pathf("messages[%d].content", i), "empty_array", pathf("Invalid 'messages[%d].content': empty array. Expected an array with minimum length 1, but got an empty array instead.", i)))
	}
	for j, part := range parts {
		switch part.Type {
		case "text":
			if part.Text == nil || *part.Text == "" {
				panic(invalidParam(pathf("messages[%d].content[%d].text", i, j), "", "Invalid content: text content parts must be non-empty."))
			}
			if text != "" {
				text += "\n"
			}
			text += *part.Text
		case "refusal":
			text += part.Refusal
		case "image_url", "input_audio", "file":
			beside.others++
			beside.pictures = append(beside.pictures, pictureOf(part.ImageURL.URL)...)
		default:
			panic(invalidParam(pathf("messages[%d].content[%d].type", i, j), "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.", part.Type)))
		}
	}
	return text, beside
}
