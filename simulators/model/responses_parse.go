package model

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

type responsesRequest struct {
	Model           string             `json:"model"`
	Input           json.RawMessage    `json:"input"`
	Instructions    *string            `json:"instructions"`
	Tools           *[]json.RawMessage `json:"tools"`
	ToolChoice      json.RawMessage    `json:"tool_choice"`
	Parallel        *bool              `json:"parallel_tool_calls"`
	MaxOutputTokens *int               `json:"max_output_tokens"`
	Stream          bool               `json:"stream"`
	StreamOptions   *streamOptions     `json:"stream_options"`
	Include         []string           `json:"include"`
	Temperature     *float64           `json:"temperature"`
	TopP            *float64           `json:"top_p"`
	ServiceTier     *string            `json:"service_tier"`
	PreviousID      *string            `json:"previous_response_id"`
	Conversation    json.RawMessage    `json:"conversation"`
	Store           *bool              `json:"store"`
	CacheOptions    *struct {
		TTL        *string         `json:"ttl"`
		Mode       json.RawMessage `json:"mode"`
		Prewarm    json.RawMessage `json:"prewarm"`
		Comparison json.RawMessage `json:"comparison_response_id"`
	} `json:"prompt_cache_options"`
	Reasoning *struct {
		Effort  *string         `json:"effort"`
		Summary *string         `json:"summary"`
		Context json.RawMessage `json:"context"`
		Mode    json.RawMessage `json:"mode"`
		Legacy  json.RawMessage `json:"generate_summary"`
	} `json:"reasoning"`

	CacheKey json.RawMessage `json:"prompt_cache_key"` // without effect
}

// responsesWithout are keys that are known, and of no effect here.
var responsesWithout = strings.Fields(`access_programs background context_management max_tool_calls metadata moderation prompt
	prompt_cache_retention safety_identifier text top_logprobs truncation user`)

// responsesWishes are what the answer needs of the request.
type responsesWishes struct {
	encrypted bool // reasoning with its content
	summary   bool // and to be read
	padded    bool // deltas with obfuscation
	store     bool
	tier      string
}

var includable = []string{
	"web_search_call.action.sources", "web_search_call.results", "code_interpreter_call.outputs", "computer_call_output.output.image_url",
	"file_search_call.results", "message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content",
}

func (s *Server) parseResponses(p *Prompt) {
	var q responsesRequest
	unknown := openaiBody(p.Body, &q, responsesWithout)
	p.Model, p.Stream = q.Model, q.Stream
	if unknown != "" {
		panic(invalidParam(unknown, "unknown_parameter", pathf("Unknown parameter: '%s'.", unknown)))
	}
	p.responsesSettings(&q)
	p.responsesTools(&q, s.tools)
	if q.Instructions != nil && *q.Instructions != "" {
		p.System = *q.Instructions
		p.segment("system", []byte(p.System), noCache)
	}
	s.responsesInput(p, q.Input)
}

// responsesSettings judges everything but tools and input.
func (p *Prompt) responsesSettings(q *responsesRequest) {
	switch {
	case q.Model == "":
		panic(invalidParam("model", "missing_required_parameter", "Missing required parameter: 'model'."))
	case !hasValue(q.Input) || string(q.Input) == `""` || string(q.Input) == "[]":
		panic(invalidParam("input", "missing_required_parameter", "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided."))
	case q.StreamOptions != nil && !q.Stream:
		panic(invalidParam("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled."))
	case q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2):
		panic(invalidParam("temperature", "decimal_above_max_value", "Invalid 'temperature': expected a value between 0 and 2."))
	case q.PreviousID != nil:
		panic(invalidParam("previous_response_id", "previous_response_not_found", pathf("Previous response with id '%s' not found.", *q.PreviousID)))
	case hasValue(q.Conversation):
		panic(invalidParam("conversation", "", "Conversation not found."))
	}
	for i, name := range q.Include {
		if !slices.Contains(includable, name) {
			panic(invalidParam(pathf("include[%d]", i), "invalid_value", pathf("Invalid value: '%s'. Supported values are: %s.", name, "'"+strings.Join(includable, "', '")+"'")))
		}
	}
	if n := q.MaxOutputTokens; n != nil {
		if *n < 16 {
			panic(invalidParam("max_output_tokens", "integer_below_min_value", pathf("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *n)))
		}
		p.MaxTokens = *n
	}
	if o := q.CacheOptions; o != nil {
		p.kept = 30 * time.Minute
		switch {
		case o.TTL == nil || *o.TTL == "30m":
		case *o.TTL == "12h":
			p.kept = longLife
		default:
			panic(invalidParam("prompt_cache_options.ttl", "invalid_value", pathf("Invalid value: '%s'. Supported values are: '30m' and '12h'.", *o.TTL)))
		}
	}
	tier := responsesTier(q.ServiceTier)
	p.responses = responsesWishes{
		encrypted: slices.Contains(q.Include, "reasoning.encrypted_content"),
		padded:    q.StreamOptions == nil || q.StreamOptions.IncludeObfuscation == nil || *q.StreamOptions.IncludeObfuscation,
		store:     q.Store == nil || *q.Store,
		tier:      tier,
	}
	var effort *string
	if q.Reasoning != nil {
		effort = q.Reasoning.Effort
		if summary := q.Reasoning.Summary; summary != nil && !takes("auto concise detailed", *summary) {
			panic(invalidParam("reasoning.summary", "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'auto', 'concise', and 'detailed'.", *summary)))
		}
		p.responses.summary = q.Reasoning.Summary != nil
	}
	p.judgeReasoning("reasoning.effort", effort, q.Temperature, q.TopP)
}

// responsesTier is the tier in which a request is served.
func responsesTier(asked *string) string {
	if asked == nil {
		return "default"
	}
	switch *asked {
	case "auto", "default":
		return "default"
	case "priority", "fast":
		return "priority"
	case "flex", "scale", "ultrafast":
		return *asked
	default:
		panic(invalidParam("service_tier", "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'auto', 'default', 'flex', 'scale', 'priority', 'fast', and 'ultrafast'.", *asked)))
	}
}

func (p *Prompt) responsesTools(q *responsesRequest, known *knownTools) {
	seen := map[string]bool{}
	if q.Tools != nil {
		for i, raw := range *q.Tools {
			t := known.read(OpenAIResponses, raw, func(raw json.RawMessage) knownTool { return responsesTool(i, raw) })
			p.openaiTool(t, seen)
		}
	}
	p.Choice.OnlyOne = q.Parallel != nil && !*q.Parallel
	if !hasValue(q.ToolChoice) {
		return
	}
	if isString(q.ToolChoice) {
		if unquote(q.ToolChoice) == "required" && len(p.Tools) == 0 {
			panic(invalidParam("tool_choice", "", "Tool choice 'required' must be specified with 'tools' parameter."))
		}
		p.openaiChoice(q.ToolChoice, seen)
		return
	}
	var c struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(q.ToolChoice, &c) != nil || !seen[c.Name] {
		panic(invalidParam("tool_choice", "", pathf("Tool choice '%s' not found in 'tools' parameter.", c.Name)))
	}
	p.Choice.Mode, p.Choice.Name = ChoiceNamed, c.Name
}

// responsesTool reads tool i of a request.
func responsesTool(i int, raw json.RawMessage) knownTool {
	var t struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	}
	where := pathf("tools[%d]", i)
	switch err := json.Unmarshal(raw, &t); {
	case err != nil || t.Type == "":
		panic(missing(where + ".type"))
	case t.Type != "function":
		panic(invalidParam(where+".type", "invalid_value", pathf("Invalid value: '%s'. This simulated model has functions only.", t.Type)))
	case t.Name == "":
		panic(missing(where + ".name"))
	case !isToolName(t.Name, 64):
		panic(invalidParam(where+".name", "invalid_value", "Invalid '"+where+".name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."))
	case hasValue(t.Parameters) && !isObjectSchema(t.Parameters):
		panic(invalidParam(where+".parameters", "invalid_function_parameters", pathf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", t.Name)))
	case (t.Strict == nil || *t.Strict) && !isClosedSchema(t.Parameters):
		panic(invalidParam(where+".parameters", "invalid_function_parameters", pathf("Invalid schema for function '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", t.Name)))
	}
	return knownTool{Tool: Tool{t.Name, t.Description, t.Parameters}}
}

// isClosedSchema is what a strict tool needs, as far as its first level goes.
func isClosedSchema(raw json.RawMessage) bool {
	var schema struct {
		Additional *bool `json:"additionalProperties"`
	}
	return json.Unmarshal(raw, &schema) == nil && schema.Additional != nil && !*schema.Additional
}

func missing(param string) *Refusal {
	return invalidParam(param, "missing_required_parameter", "Missing required parameter: '"+param+"'.")
}
