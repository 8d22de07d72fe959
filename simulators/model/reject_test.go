package model_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"parley/simulators/model"
)

// rejection is a request that is refused with a status and these words.
type rejection struct {
	name   string
	body   string
	status int
	words  string
}

// anth is a request to Anthropic around messages.
func anth(messages, more string) string {
	return `{"model":"m","max_tokens":2000,"messages":[` + messages + `]` + more + `}`
}

const (
	hi      = `{"role":"user","content":"hi"}`
	useA    = `{"type":"tool_use","id":"a","name":"f","input":{}}`
	resultA = `{"type":"tool_result","tool_use_id":"a","content":"r"}`
	calls   = `{"role":"assistant","content":[` + useA + `]}`
	results = `{"role":"user","content":[` + resultA + `]}`
	toolF   = `{"name":"f","input_schema":{"type":"object"}}`
)

var anthropicRejections = []rejection{
	{"broken JSON", `{"model":`, 400, "not valid JSON"},
	{"trailing JSON", anth(hi, "") + "{}", 400, "not valid JSON"},
	{"wrong type", `{"model":7}`, 400, "model: Input should be a valid string"},
	{"unknown key", anth(hi, `,"frob":1`), 400, "frob: Extra inputs are not permitted"},
	{"no model", `{"max_tokens":1,"messages":[` + hi + `]}`, 400, "model: Field required"},
	{"no max_tokens", `{"model":"m","messages":[` + hi + `]}`, 400, "max_tokens: Field required"},
	{"no messages", `{"model":"m","max_tokens":1}`, 400, "messages: Field required"},
	{"empty messages", anth("", ""), 400, "at least one message"},
	{"first role", anth(`{"role":"assistant","content":"hi"},`+hi, ""), 400, `first message must use the "user" role`},
	{"system role", anth(`{"role":"system","content":"s"},`+hi, ""), 400, `Unexpected role "system"`},
	{"tool role", anth(hi+`,{"role":"tool","content":"s"}`, ""), 400, "messages.1.role: Input should be"},
	{"prefill", anth(hi+`,{"role":"assistant","content":"I"}`, ""), 400, "must end with a user message"},
	{"empty content", anth(`{"role":"user","content":""}`, ""), 400, "non-empty content"},
	{"no blocks", anth(`{"role":"user","content":[]}`, ""), 400, "non-empty content"},
	{"empty text block", anth(`{"role":"user","content":[{"type":"text","text":""}]}`, ""), 400, "text content blocks must be non-empty"},
	{"blank text block", anth(`{"role":"user","content":[{"type":"text","text":" \n"}]}`, ""), 400, "non-whitespace"},
	{"empty system block", anth(hi, `,"system":[{"type":"text","text":""}]`), 400, "system: text content blocks must be non-empty"},
	{"unknown block", anth(`{"role":"user","content":[{"type":"frob"}]}`, ""), 400, "Input tag 'frob'"},
	{"call by the person", anth(`{"role":"user","content":[`+useA+`]}`, ""), 400, "can only be in `assistant` messages"},
	{"call without result", anth(hi+","+calls+","+hi, ""), 400, "`tool_use` ids were found without `tool_result` blocks immediately after: a."},
	{"call at the end", anth(hi+","+calls, ""), 400, "`tool_use` ids were found"},
	{"one of two results", anth(hi+`,{"role":"assistant","content":[`+useA+`,{"type":"tool_use","id":"b","name":"f","input":{}}]},`+results, ""), 400, "immediately after: b."},
	{"result too late", anth(hi+","+calls+","+hi+","+results, ""), 400, "`tool_use` ids were found"},
	{"result behind text", anth(hi+","+calls+`,{"role":"user","content":[{"type":"text","text":"x"},`+resultA+`]}`, ""), 400, "`tool_use` ids were found"},
	{"call without thinking", anth(hi+","+calls+","+results, `,"thinking":{"type":"enabled","budget_tokens":1024}`), 400, "must start with a thinking block"},
	{"result without call", anth(results, ""), 400, "unexpected `tool_use_id` found in `tool_result` blocks: a."},
	{"result of an earlier call", anth(hi+","+calls+","+results+`,{"role":"assistant","content":"x"},`+results, ""), 400, "messages.4.content.0: unexpected"},
	{"two results", anth(hi+","+calls+`,{"role":"user","content":[`+resultA+","+resultA+`]}`, ""), 400, "each tool_use must have a single result"},
	{"same id twice", anth(hi+`,{"role":"assistant","content":[`+useA+","+useA+`]},`+results, ""), 400, "ids must be unique"},
	{"same id later", anth(hi+","+calls+","+results+","+calls+","+results, ""), 400, "messages.3.content.0: `tool_use` ids must be unique"},
	{"input no object", anth(hi+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"{}"}]},`+results, ""), 400, "valid dictionary"},
	{"choice without tools", anth(hi, `,"tool_choice":{"type":"auto"}`), 400, "tool_choice may only be specified while providing tools"},
	{"choice of an unknown tool", anth(hi, `,"tools":[`+toolF+`],"tool_choice":{"type":"tool","name":"g"}`), 400, "Tool 'g' not found"},
	{"tool twice", anth(hi, `,"tools":[`+toolF+","+toolF+`]`), 400, "Tool names must be unique"},
	{"tool name", anth(hi, `,"tools":[{"name":"a b","input_schema":{"type":"object"}}]`), 400, "tools.0.custom.name"},
	{"tool schema", anth(hi, `,"tools":[{"name":"f"}]`), 400, "tools.0.custom.input_schema: Field required"},
	{"thinking budget", anth(hi, `,"thinking":{"type":"enabled","budget_tokens":2000}`), 400, "must be greater than `thinking.budget_tokens`"},
	{"thinking and forced tools", anth(hi, `,"thinking":{"type":"adaptive"},"tools":[`+toolF+`],"tool_choice":{"type":"any"}`), 400, "Thinking may not be enabled"},
	{"foreign thinking", anth(hi+`,{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"EqAA"}]},`+hi, ""), 400, "Invalid `signature` in `thinking` block"},
	{"five breakpoints", anth(`{"role":"user","content":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5), ",")+`]}`, ""), 400, "A maximum of 4 blocks"},
	{"too large", `{"model":"` + strings.Repeat("x", 70_000) + `"}`, 413, "exceeds the maximum size"},
}

func oai(messages, more string) string {
	return `{"model":"m","messages":[` + messages + `]` + more + `}`
}

const (
	callA   = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	oCalls  = `{"role":"assistant","content":null,"tool_calls":[` + callA + `]}`
	oResult = `{"role":"tool","tool_call_id":"a","content":"r"}`
	oTool   = `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`
)

var openaiRejections = []rejection{
	{"broken JSON", `{"model":`, 400, "could not parse the JSON body"},
	{"unknown key", oai(hi, `,"frob":1`), 400, "Unrecognized request argument supplied: frob"},
	{"no model", `{"messages":[` + hi + `]}`, 400, "you must provide a model parameter"},
	{"no messages", `{"model":"m"}`, 400, "Missing required parameter: 'messages'."},
	{"empty messages", oai("", ""), 400, "empty_array"},
	{"wrong role", oai(`{"role":"frob","content":"x"}`, ""), 400, "Invalid value: 'frob'."},
	{"null content", oai(`{"role":"user","content":null}`, ""), 400, "expected a string, got null"},
	{"no parts", oai(`{"role":"user","content":[]}`, ""), 400, "empty array"},
	{"empty part", oai(`{"role":"user","content":[{"type":"text","text":""}]}`, ""), 400, "must be non-empty"},
	{"call without result", oai(hi+","+oCalls+","+hi, ""), 400, "did not have response messages: a"},
	{"call at the end", oai(hi+","+oCalls, ""), 400, "did not have response messages: a"},
	{"one of two results", oai(hi+`,{"role":"assistant","tool_calls":[`+callA+`,{"id":"b","type":"function","function":{"name":"f","arguments":""}}]},`+oResult+","+hi, ""), 400, "did not have response messages: b"},
	{"result without call", oai(hi+","+oResult, ""), 400, "must be a response to a "},
	{"result too late", oai(hi+","+oCalls+","+oResult+","+hi+`,{"role":"tool","tool_call_id":"z","content":"r"}`, ""), 400, "must be a response"},
	{"result behind another message", oai(hi+","+oCalls+","+hi+","+oResult, ""), 400, "did not have response messages: a"},
	{"two results", oai(hi+","+oCalls+","+oResult+","+oResult, ""), 400, "Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3]."},
	{"same id twice", oai(hi+`,{"role":"assistant","tool_calls":[`+callA+","+callA+`]},`+oResult, ""), 400, "Duplicate value"},
	{"no calls", oai(hi+`,{"role":"assistant","content":"x","tool_calls":[]}`, ""), 400, "tool_calls': empty array"},
	{"empty tools", oai(hi, `,"tools":[]`), 400, "Invalid 'tools': empty array"},
	{"choice without tools", oai(hi, `,"tool_choice":"auto"`), 400, "only allowed when 'tools' are specified"},
	{"choice of an unknown tool", oai(hi, `,"tools":[`+oTool+`],"tool_choice":{"type":"function","function":{"name":"g"}}`), 400, "'g' not found"},
	{"stream options without stream", oai(hi, `,"stream_options":{"include_usage":true}`), 400, "only allowed when 'stream' is enabled"},
	{"both limits", oai(hi, `,"max_tokens":1,"max_completion_tokens":1`), 400, "at the same time is not supported"},
	{"too large", `{"model":"` + strings.Repeat("x", 70_000) + `"}`, 413, "Maximum request body size"},
}

func TestWhatProvidersRefuseIsRefusedInTheirWords(t *testing.T) {
	t.Parallel()
	for path, table := range map[string][]rejection{messages: anthropicRejections, completions: openaiRejections, answers: responsesRejections} {
		h := start(t, model.Options{MaxBody: 64 << 10})
		for _, c := range table {
			t.Run(path+" "+c.name, func(t *testing.T) {
				status, header, body, _ := h.post(path, c.body)
				if status != c.status {
					t.Errorf("status %d: %s", status, body)
				}
				var v struct {
					Type      string
					RequestID string `json:"request_id"`
					Error     struct {
						Type, Message string
						Code          *string
					}
				}
				if err := json.Unmarshal([]byte(body), &v); err != nil {
					t.Fatal(err)
				}
				text := v.Error.Message
				if v.Error.Code != nil {
					text += " " + *v.Error.Code
				}
				if !strings.Contains(text, c.words) || v.Error.Type == "" {
					t.Errorf("body %s", body)
				}
				if path == messages && (v.Type != "error" || v.RequestID == "" || v.RequestID != header.Get("Request-Id")) {
					t.Errorf("body %s", body)
				}
				if e := h.last(); e.Outcome != model.Refused || e.Status != c.status || e.Pico != 0 || e.Usage != (model.Usage{}) {
					t.Errorf("bill %+v", e)
				}
			})
		}
	}
}

func TestWellFormedConversationsAreTaken(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	for path, bodies := range map[string][]string{
		messages: {
			anth(hi+","+calls+","+results, `,"tools":[]`),
			anth(hi+","+hi, `,"tools":[`+toolF+`],"tool_choice":{"type":"none"},"system":"s","temperature":0.5,"metadata":{"user_id":"u"}`),
			anth(hi+","+calls+`,{"role":"user","content":[`+resultA+`,{"type":"text","text":"and"}]}`, ""),
			anth(`{"role":"user","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}`, ""),
		},
		completions: {
			oai(`{"role":"system","content":"s"},`+hi+","+oCalls+","+oResult+","+hi, `,"tools":[`+oTool+`],"tool_choice":"none","parallel_tool_calls":false`),
			oai(`{"role":"developer","content":"s"},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:"}}]}`, ""),
		},
	} {
		for _, body := range bodies {
			if status, _, text, _ := h.post(path, body); status != 200 {
				t.Errorf("%s refused: %s", body, text)
			}
		}
	}
}

func TestThinkingMustComeBackAsItWasIssued(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: func(_ context.Context, p *model.Prompt) model.Answer {
		if !p.IsFirst() {
			return model.Reply(model.Say("ok"))
		}
		chosen := model.Think("own")
		chosen.Signature = "chosen"
		return model.Reply(model.Think("I think"), chosen, model.Redact("hidden"), model.Use("f", "{}"))
	}})
	_, _, body, _ := h.post(messages, anth(hi, ""))
	var m struct{ Content json.RawMessage }
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	var blocks []map[string]any
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		t.Fatal(err)
	}
	id := blocks[3]["id"].(string)
	again := func(change func(bs []map[string]any) []map[string]any) (int, string) {
		var copied []map[string]any
		if err := json.Unmarshal(m.Content, &copied); err != nil {
			t.Fatal(err)
		}
		status, _, text, _ := h.post(messages, anth(hi+`,{"role":"assistant","content":`+compact(t, change(copied))+
			`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"r"}]}`, `,"thinking":{"type":"adaptive"}`))
		return status, text
	}
	set := func(i int, key, value string) func([]map[string]any) []map[string]any {
		return func(bs []map[string]any) []map[string]any { bs[i][key] = value; return bs }
	}
	if status, text := again(func(bs []map[string]any) []map[string]any { return bs }); status != 200 {
		t.Errorf("unaltered: %s", text)
	}
	for name, c := range map[string]struct {
		change func([]map[string]any) []map[string]any
		words  string
	}{
		"other thinking":       {set(0, "thinking", "I thinK"), "messages.1.content.0: Invalid `signature`"},
		"other signature":      {set(0, "signature", blocks[0]["signature"].(string)+"A"), "messages.1.content.0: Invalid `signature`"},
		"no signature":         {set(0, "signature", ""), "signature: Field required"},
		"chosen, other":        {set(1, "thinking", "Own"), "messages.1.content.1: Invalid `signature`"},
		"other redacted data":  {set(2, "data", "AAAA"), "messages.1.content.2: Invalid `data`"},
		"thinking before call": {func(bs []map[string]any) []map[string]any { return bs[3:] }, "Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
	} {
		if status, text := again(c.change); status != 400 || !strings.Contains(text, c.words) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

func TestKeysAndVersionsAreAskedFor(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Keys: []string{"secret-key"}})
	for _, c := range []struct {
		path   string
		header map[string]string
		status int
		words  string
	}{
		{messages, map[string]string{"anthropic-version": "1"}, 401, "x-api-key header is required"},
		{messages, map[string]string{"anthropic-version": "1", "x-api-key": "wrong"}, 401, "invalid x-api-key"},
		{messages, map[string]string{"x-api-key": "secret-key"}, 400, "anthropic-version: header is required"},
		{messages, map[string]string{"anthropic-version": "1", "x-api-key": "secret-key"}, 200, `"type":"message"`},
		{completions, nil, 401, "You didn't provide an API key"},
		{completions, map[string]string{"Authorization": "Bearer wrong"}, 401, "invalid_api_key"},
		{completions, map[string]string{"Authorization": "Bearer secret-key"}, 200, "chat.completion"},
		{answers, nil, 401, "You didn't provide an API key"},
		{answers, map[string]string{"Authorization": "Bearer secret-key"}, 200, `"object":"response"`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL()+c.path, strings.NewReader(ask(c.path, "hi", false)))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		res, err := h.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := text(t, res)
		if res.StatusCode != c.status || !strings.Contains(body, c.words) {
			t.Errorf("%s %v: %d %s", c.path, c.header, res.StatusCode, body)
		}
	}
	for _, r := range h.Requests() {
		if strings.Contains(compact(t, r), "secret-key") {
			t.Error("a key was recorded")
		}
	}
}
