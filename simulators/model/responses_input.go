package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// itemType is what the blocks of an answer are called as items, and itemPrefix
// how the ids of items begin.
var (
	itemType   = map[Kind]string{TextBlock: "message", ThinkingBlock: "reasoning", RedactedBlock: "reasoning", CallBlock: "function_call"}
	itemPrefix = map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fc"}
)

// foreignItems are those of tools that the provider runs itself.
var foreignItems = []string{
	"file_search_call", "computer_call", "computer_call_output", "web_search_call", "tool_search_call", "tool_search_output",
	"additional_tools", "configuration_update", "compaction", "image_generation_call", "code_interpreter_call",
	"local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output",
	"mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call", "custom_tool_call_output", "custom_tool_call",
	"compaction_trigger", "program", "program_output",
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        *string         `json:"id"`
	Status    json.RawMessage `json:"status"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted *string         `json:"encrypted_content"`
	Summary   *[]struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"summary"`
}

// itemsWithout are keys that are known, and of no effect here.
var itemsWithout = strings.Fields(`phase async caller namespace`)

// itemReader takes over a list of items.
type itemReader struct {
	s       *Server
	p       *Prompt
	system  []string
	calls   []string          // without a result yet
	names   map[string]string // of the tools of all calls
	results map[string]bool   // that came
	after   string            // id of reasoning with nothing behind it yet
}

// responsesInput takes over the input, and refuses what OpenAI refuses.
func (s *Server) responsesInput(p *Prompt, raw json.RawMessage) {
	rd := &itemReader{s: s, p: p, names: map[string]string{}, results: map[string]bool{}}
	if p.System != "" {
		rd.system = []string{p.System}
	}
	if isString(raw) {
		rd.person(unquote(raw), enclosed{})
		return
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		panic(invalidParam("input", "invalid_type", "Invalid type for 'input': expected one of an array of objects or a string, but got something else instead."))
	}
	for i, raw := range items {
		rd.item(pathf("input[%d]", i), raw)
	}
	switch {
	case rd.after != "":
		panic(lonely(rd.after))
	case len(rd.calls) > 0:
		panic(invalidParam("input", "", pathf("No tool output found for function call %s.", rd.calls[0])))
	}
	p.System = strings.Join(rd.system, "\n\n")
}

func lonely(id string) *Refusal {
	return invalidParam("input", "", pathf("Item '%s' of type 'reasoning' was provided without its required following item.", id))
}

func notFound(id string) *Refusal {
	return &Refusal{
		Status: 404, Type: "invalid_request_error", Param: "input",
		Message: "Item with id '" + id + "' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
	}
}

func (rd *itemReader) item(where string, raw json.RawMessage) {
	var kind struct {
		Type string `json:"type"`
		Role string `json:"role"`
		ID   string `json:"id"`
	}
	if !isObject(raw) || json.Unmarshal(raw, &kind) != nil {
		panic(invalidParam(where, "invalid_type", pathf("Invalid type for '%s': expected an object, but got something else instead.", where)))
	}
	if kind.Type == "" && kind.Role != "" {
		kind.Type = "message"
	}
	switch {
	case kind.Type == "item_reference":
		panic(notFound(kind.ID))
	case slices.Contains(foreignItems, kind.Type):
		rd.after = ""
		rd.model().Others++
		rd.p.segment("item", raw, noCache)
		return
	case kind.Type != "function_call_output" && itemPrefix[kind.Type] == "":
		panic(invalidParam(where, "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output', 'item_reference', and those of other tools.", kind.Type)))
	}
	var it responsesItem
	switch unknown, err := decode(raw, &it, itemsWithout...); {
	case unknown != "":
		panic(invalidParam(where+"."+unknown, "unknown_parameter", pathf("Unknown parameter: '%s.%s'.", where, unknown)))
	case err != nil:
		panic(invalidParam(where, "invalid_type", pathf("Invalid type for '%s': expected another shape.", where)))
	}
	if prefix := itemPrefix[kind.Type]; it.ID != nil && !strings.HasPrefix(*it.ID, prefix) {
		panic(invalidParam(where+".id", "invalid_value", pathf("Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", where, *it.ID, prefix)))
	}
	if byPerson := kind.Type == "function_call_output" || kind.Type == "message" && it.Role != "assistant"; byPerson && rd.after != "" {
		panic(lonely(rd.after))
	}
	switch kind.Type {
	case "message":
		rd.message(where, &it)
	case "reasoning":
		rd.reasoning(where, &it, raw)
	case "function_call":
		rd.call(where, &it)
	default:
		rd.result(where, &it)
	}
}

// model returns the message of the model that an item belongs to.
func (rd *itemReader) model() *Message {
	p := rd.p
	if n := len(p.Messages); n == 0 || p.Messages[n-1].Role != Assistant {
		p.Messages = append(p.Messages, Message{Role: Assistant})
	}
	return &p.Messages[len(p.Messages)-1]
}

func (rd *itemReader) person(text string, beside enclosed) {
	rd.p.Messages = append(rd.p.Messages, Message{Role: User, Text: text, Others: beside.others, Pictures: beside.pictures})
	rd.p.segment("user", []byte(text), noCache)
}

func (rd *itemReader) message(where string, it *responsesItem) {
	if !hasValue(it.Content) {
		panic(missing(where + ".content"))
	}
	text, beside := responsesContent(where, it.Role, it.Content)
	switch it.Role {
	case "system", "developer":
		rd.system = append(rd.system, text)
		rd.p.segment("system", []byte(text), noCache)
	case "user":
		rd.person(text, beside)
	case "assistant":
		rd.after = ""
		rd.model().paragraph(text)
		rd.p.segment("assistant", []byte(text), noCache)
	default:
		panic(invalidParam(where+".role", "invalid_value", pathf("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)))
	}
}

func (rd *itemReader) reasoning(where string, it *responsesItem, raw json.RawMessage) {
	switch {
	case it.ID == nil:
		panic(missing(where + ".id"))
	case it.Summary == nil:
		panic(missing(where + ".summary"))
	case it.Encrypted == nil || *it.Encrypted == "":
		panic(notFound(*it.ID))
	}
	var summary []string
	for _, part := range *it.Summary {
		summary = append(summary, part.Text)
	}
	read := strings.Join(summary, "\n\n")
	if !rd.s.seals.validEncrypted(*it.ID, read, *it.Encrypted) {
		panic(invalidParam("", "invalid_encrypted_content", pathf("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", *it.ID)))
	}
	rd.after = *it.ID
	rd.model().Thinking += read
	rd.p.segment("reasoning", raw, noCache)
}

func (rd *itemReader) call(where string, it *responsesItem) {
	switch {
	case it.CallID == "":
		panic(missing(where + ".call_id"))
	case len(it.CallID) > 64:
		panic(invalidParam(where+".call_id", "string_above_max_length", pathf("Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", where, len(it.CallID))))
	case !isToolName(it.Name, 128):
		panic(invalidParam(where+".name", "invalid_value", "Invalid '"+where+".name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."))
	case it.Arguments == nil:
		panic(missing(where + ".arguments"))
	case rd.names[it.CallID] != "":
		panic(invalidParam(where+".call_id", "", pathf("Duplicate function call with call_id %s.", it.CallID)))
	}
	rd.after = ""
	rd.calls, rd.names[it.CallID] = append(rd.calls, it.CallID), it.Name
	m := rd.model()
	m.Calls = append(m.Calls, Call{it.CallID, it.Name, json.RawMessage(*it.Arguments)})
	rd.p.segment("call", []byte(it.Name+*it.Arguments), noCache)
}

func (rd *itemReader) result(where string, it *responsesItem) {
	switch {
	case it.CallID == "":
		panic(missing(where + ".call_id"))
	case !hasValue(it.Output):
		panic(missing(where + ".output"))
	case rd.names[it.CallID] == "":
		panic(invalidParam("input", "", pathf("No tool call found for function call output with call_id %s.", it.CallID)))
	case rd.results[it.CallID]:
		panic(invalidParam("input", "", pathf("Duplicate function call output with call_id %s.", it.CallID)))
	}
	text, _ := responsesContent(where, "user", it.Output)
	rd.results[it.CallID] = true
	rd.calls = slices.DeleteFunc(rd.calls, func(id string) bool { return id == it.CallID })
	rd.p.result(Result{CallID: it.CallID, Name: rd.names[it.CallID], Text: text})
}

// responsesContent reads the content of a message or result: its text, and what else it
// holds.
func responsesContent(where, role string, raw json.RawMessage) (text string, beside enclosed) {
	if isString(raw) {
		return unquote(raw), enclosed{}
	}
	var parts []struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal string  `json:"refusal"`
		Image   string  `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		panic(invalidParam(where+".content", "invalid_type", pathf("Invalid type for '%s.content': expected one of an array of objects or a string, but got something else instead.", where)))
	}
	supported := []string{"input_text", "input_image", "input_file", "input_audio", "computer_screenshot"}
	if role == "assistant" {
		supported = []string{"output_text", "refusal"}
	}
	for j, part := range parts {
		place := pathf("%s.content[%d]", where, j)
		switch {
		case !slices.Contains(supported, part.Type):
			panic(invalidParam(place, "invalid_value", "Invalid value: '"+part.Type+"'. Supported values are: '"+strings.Join(supported, "', '")+"'."))
		case strings.HasSuffix(part.Type, "_text") && part.Text == nil:
			panic(missing(place + ".text"))
		case part.Text != nil:
			if text != "" {
				text += "\n"
			}
			text += *part.Text
		case part.Type == "refusal":
			text += part.Refusal
		default:
			beside.others++
			beside.pictures = append(beside.pictures, pictureOf(part.Image)...)
		}
	}
	return text, beside
}
