package model_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/simulators/model"

	"github.com/google/go-cmp/cmp"
)

// res is a request to Responses around items.
func res(items, more string) string {
	return `{"model":"m","input":[` + items + `]` + more + `}`
}

const (
	rCall   = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	rResult = `{"type":"function_call_output","call_id":"a","output":"r"}`
	rTool   = `{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}`
)

var responsesRejections = []rejection{
	{"broken JSON", `{"model":`, 400, "could not parse the JSON body"},
	{"wrong type", `{"model":7}`, 400, "Invalid type for 'model'"},
	{"unknown key", res(hi, `,"messages":[]`), 400, "Unknown parameter: 'messages'. unknown_parameter"},
	{"no model", `{"input":"hi"}`, 400, "Missing required parameter: 'model'."},
	{"no input", `{"model":"m"}`, 400, `One of "input"`},
	{"empty input", res("", ""), 400, `One of "input"`},
	{"empty text", `{"model":"m","input":""}`, 400, `One of "input"`},
	{"input of another type", `{"model":"m","input":7}`, 400, "Invalid type for 'input'"},
	{"unknown item", res(hi+`,{"type":"frob"}`, ""), 400, "Invalid value: 'frob'."},
	{"item that is none", res(hi+`,7`, ""), 400, "Invalid type for 'input[1]'"},
	{"unknown key of an item", res(`{"role":"user","content":"x","tool_calls":[]}`, ""), 400, "Unknown parameter: 'input[0].tool_calls'."},
	{"wrong role", res(`{"role":"tool","content":"x"}`, ""), 400, "Invalid value: 'tool'."},
	{"no content", res(`{"role":"user"}`, ""), 400, "Missing required parameter: 'input[0].content'."},
	{"output by the person", res(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`, ""), 400, "Invalid value: 'output_text'."},
	{"input by the model", res(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`, ""), 400, "Invalid value: 'input_text'."},
	{"part without text", res(`{"role":"user","content":[{"type":"input_text"}]}`, ""), 400, "input[0].content[0].text"},
	{"id of another kind", res(hi+`,{"type":"function_call","id":"call_1","call_id":"a","name":"f","arguments":"{}"},`+rResult, ""), 400, "begins with 'fc'"},
	{"call without result", res(hi+","+rCall+","+hi, ""), 400, "No tool output found for function call a."},
	{"one of two results", res(hi+`,{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},`+rCall+","+rResult, ""), 400, "No tool output found for function call b."},
	{"result without call", res(hi+","+rResult, ""), 400, "No tool call found for function call output with call_id a."},
	{"result before its call", res(hi+","+rResult+","+rCall, ""), 400, "No tool call found"},
	{"two results", res(hi+","+rCall+","+rResult+","+rResult, ""), 400, "Duplicate function call output"},
	{"same id twice", res(hi+","+rCall+","+rCall+","+rResult, ""), 400, "Duplicate function call"},
	{"call without arguments", res(hi+`,{"type":"function_call","call_id":"a","name":"f"},`+rResult, ""), 400, "input[1].arguments"},
	{"result without output", res(hi+","+rCall+`,{"type":"function_call_output","call_id":"a"}`, ""), 400, "input[2].output"},
	{"long call id", res(hi+","+strings.ReplaceAll(rCall+","+rResult, `"a"`, `"`+strings.Repeat("a", 65)+`"`), ""), 400, "string_above_max_length"},
	{"reasoning without content", res(hi+`,{"type":"reasoning","id":"rs_1","summary":[]},`+hi, ""), 404, "Item with id 'rs_1' not found."},
	{"reasoning without summary", res(hi+`,{"type":"reasoning","id":"rs_1","encrypted_content":"x"},`+hi, ""), 400, "input[1].summary"},
	{"foreign reasoning", res(hi+`,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAAB"},`+hi, ""), 400, "invalid_encrypted_content"},
	{"stored item", res(hi+`,{"type":"item_reference","id":"msg_1"}`, ""), 404, "Item with id 'msg_1' not found."},
	{"stored response", res(hi, `,"previous_response_id":"resp_1"`), 400, "previous_response_not_found"},
	{"too few tokens", res(hi, `,"max_output_tokens":15`), 400, "integer_below_min_value"},
	{"unknown inclusion", res(hi, `,"include":["reasoning"]`), 400, "Invalid value: 'reasoning'."},
	{"unknown tier", res(hi, `,"service_tier":"cheap"`), 400, "Invalid value: 'cheap'."},
	{"tool of the other protocol", res(hi, `,"tools":[`+oTool+`]`), 400, "Missing required parameter: 'tools[0].name'."},
	{"strict tool that is not closed", res(hi, `,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`), 400, "'additionalProperties' is required"},
	{"tool twice", res(hi, `,"tools":[`+rTool+","+rTool+`]`), 400, "must be unique"},
	{"choice without tools", res(hi, `,"tool_choice":"required"`), 400, "must be specified with 'tools'"},
	{"choice of an unknown tool", res(hi, `,"tools":[`+rTool+`],"tool_choice":{"type":"function","name":"g"}`), 400, "'g' not found"},
	{"kept for another time", res(hi, `,"prompt_cache_options":{"ttl":"1h"}`), 400, "Invalid value: '1h'."},
	{"stream options without stream", res(hi, `,"stream_options":{"include_obfuscation":false}`), 400, "only allowed when 'stream' is enabled"},
	{"too large", `{"model":"` + strings.Repeat("x", 70_000) + `"}`, 413, "Maximum request body size"},
}

func TestWellFormedItemsAreTaken(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	for _, body := range []string{
		`{"model":"m","input":"hi","instructions":"s","tools":[],"tool_choice":"auto","reasoning":{"effort":"low"},"prompt_cache_key":"k","prompt_cache_options":{"ttl":"12h","mode":"implicit"}}`,
		res(`{"role":"developer","content":"s"},`+hi+","+rCall+`,{"type":"message","role":"assistant","content":"I look"},`+rResult+","+hi, `,"tools":[`+rTool+`],"tool_choice":"none","parallel_tool_calls":false,"store":false`),
		res(`{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:","detail":"auto"}]},{"type":"web_search_call","id":"ws_1","status":"completed"},`+hi, ""),
	} {
		if status, _, text, _ := h.post(answers, body); status != 200 {
			t.Errorf("%s refused: %s", body, text)
		}
	}
}

func TestTheEventsOfAResponseComeInTheirOrder(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Scripted(model.Answer{
		Blocks: []model.Block{model.Think("hm"), model.Redact("secret"), model.Say("one two"), model.Use("f", `{"a":1}`)},
		Usage:  &model.Usage{Input: 6, CacheRead: 6289, CacheWrite5m: 3000, CacheWrite1h: 337, Output: 99, Reasoning: 40},
	})})
	_, header, body, _ := h.post(answers, res(hi, `,"stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"service_tier":"fast","store":false`))
	names, data := events(t, body)
	var want []string
	add := func(names ...string) {
		for _, n := range names {
			want = append(want, "response."+n)
		}
	}
	add("created", "in_progress", "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done")
	add("output_item.added", "output_item.done")
	add("output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done")
	add("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done", "completed")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatal(diff)
	}
	for i, d := range data {
		if d["sequence_number"] != float64(i) {
			t.Errorf("event %d is number %v", i, d["sequence_number"])
		}
	}
	first, last := data[0]["response"].(map[string]any), data[len(data)-1]["response"].(map[string]any)
	if got := compact(t, last["usage"]); got != `{"input_tokens":9632,"input_tokens_details":{"cache_write_tokens":3337,"cache_write_tokens_details":{"ttl_12h_tokens":337,"ttl_30m_tokens":3000},"cached_tokens":6289},"output_tokens":99,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":9731}` {
		t.Errorf("usage %s", got)
	}
	if first["status"] != "in_progress" || first["usage"] != nil || len(first["output"].([]any)) != 0 || last["status"] != "completed" || last["service_tier"] != "priority" || last["id"] != first["id"] {
		t.Errorf("%v\n%v", first, last)
	}
	var done []any
	for i, name := range names {
		if name == "response.output_item.done" {
			done = append(done, data[i]["item"])
		}
	}
	if diff := cmp.Diff(last["output"], any(done)); diff != "" {
		t.Error(diff)
	}
	whole := done[0].(map[string]any)["encrypted_content"].(string)
	if announced := data[2]["item"].(map[string]any)["encrypted_content"].(string); announced == whole || !strings.HasPrefix(whole, announced) {
		t.Errorf("announced %q, done %q", announced, whole)
	}
	if e := h.last(); e.Events != len(names) || *e.Reported != e.Usage || e.Message != first["id"] || header.Get("X-Request-Id") != e.ID {
		t.Errorf("bill %+v", e)
	}
}

func TestAResponseSaysWhyItIsIncomplete(t *testing.T) {
	t.Parallel()
	declined := model.Answer{Blocks: []model.Block{model.Say("no")}, Finish: model.Declined}
	h := start(t, model.Options{Brain: model.Scripted(
		model.Reply(model.Say(strings.Repeat("word ", 40))), model.Reply(model.Say(strings.Repeat("word ", 40))), declined, declined)})
	for i, want := range []string{"max_output_tokens", "max_output_tokens", "content_filter", "content_filter"} {
		stream := i%2 == 1
		_, _, body, _ := h.post(answers, res(hi, `,"max_output_tokens":16,"stream":`+map[bool]string{true: "true", false: "false"}[stream]))
		if stream {
			names, data := events(t, body)
			if names[len(names)-1] != "response.incomplete" {
				t.Errorf("%v", names)
			}
			body = compact(t, data[len(data)-1]["response"])
		}
		var v struct {
			Status  string
			Details struct{ Reason string } `json:"incomplete_details"`
			Output  []struct{ Status string }
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if v.Status != "incomplete" || v.Details.Reason != want || v.Output[0].Status != map[string]string{"max_output_tokens": "incomplete", "content_filter": "completed"}[want] {
			t.Errorf("%s", body)
		}
	}
	if u := h.Bill().Entries[1].Usage; u.Output != 16 {
		t.Errorf("%+v", u)
	}
}

func TestReasoningMustComeBackAsItWasEncrypted(t *testing.T) {
	t.Parallel()
	chosen := model.Think("own")
	chosen.Signature = "chosen"
	h := start(t, model.Options{Brain: model.Scripted(
		model.Reply(model.Think("I think"), chosen, model.Redact("hidden"), model.Use("f", "{}")),
		model.Reply(model.Say("ok")),
	)})
	const wish = `,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"}`
	_, _, body, _ := h.post(answers, res(hi, wish))
	var v struct{ Output []map[string]any }
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	call := v.Output[3]["call_id"].(string)
	again := func(change func(items []map[string]any) []map[string]any) (int, string) {
		var copied []map[string]any
		if err := json.Unmarshal([]byte(compact(t, v.Output)), &copied); err != nil {
			t.Fatal(err)
		}
		items := strings.Trim(compact(t, change(copied)), "[]")
		status, _, text, _ := h.post(answers, res(hi+","+items+`,{"type":"function_call_output","call_id":"`+call+`","output":"r"}`, wish))
		return status, text
	}
	set := func(i int, key string, value any) func([]map[string]any) []map[string]any {
		return func(items []map[string]any) []map[string]any { items[i][key] = value; return items }
	}
	for name, c := range map[string]struct {
		change func([]map[string]any) []map[string]any
		words  string
	}{
		"other content":      {set(0, "encrypted_content", v.Output[0]["encrypted_content"].(string)+"A"), "invalid_encrypted_content"},
		"content of another": {set(0, "encrypted_content", v.Output[2]["encrypted_content"]), "invalid_encrypted_content"},
		"other id":           {set(0, "id", v.Output[2]["id"]), "invalid_encrypted_content"},
		"other summary":      {set(0, "summary", []any{}), "invalid_encrypted_content"},
		"chosen, other":      {set(1, "encrypted_content", "Chosen"), "invalid_encrypted_content"},
		"no content":         {set(2, "encrypted_content", nil), "not found"},
		"before the person": {func(items []map[string]any) []map[string]any {
			return slices.Concat(items[:1], []map[string]any{{"role": "user", "content": "and"}}, items[3:])
		}, "without its required following item"},
		"out of its place": {func(items []map[string]any) []map[string]any { return slices.Concat(items[3:], items[:3]) }, "without its required following item"},
	} {
		if status, text := again(c.change); status < 400 || !strings.Contains(text, c.words) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text := again(func(items []map[string]any) []map[string]any { return items }); status != 200 {
		t.Errorf("unaltered: %s", text)
	}
	if status, _, text, _ := h.post(answers, res(hi+","+compact(t, v.Output[0]), "")); status != 400 || !strings.Contains(text, "without its required following item") {
		t.Errorf("at the end: %d %s", status, text)
	}
}

func TestABrokenResponseThatIsNotStreamedFails(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	h.plan(model.Fault{Kind: model.FaultErrorEvent, Status: 429})
	status, _, body, _ := h.post(answers, ask(answers, "x", false))
	if status != 200 || !strings.Contains(body, `"status":"failed"`) || !strings.Contains(body, `"error":{"code":"rate_limit_exceeded"`) || h.last().Reported != nil {
		t.Errorf("%d %s %+v", status, body, h.last())
	}
	h.plan(model.Fault{Kind: model.FaultErrorEvent, After: 5})
	_, _, body, _ = h.post(answers, ask(answers, "x", true))
	if names, data := events(t, body); !slices.Equal(names[5:], []string{"error", "response.failed"}) || data[6]["response"].(map[string]any)["status"] != "failed" || data[6]["sequence_number"] != 6.0 {
		t.Errorf("%s", body)
	}
}

func TestResponsesAreCachedAndHearTheirPace(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Scripted(
		model.Reply(model.Say("x")), model.Reply(model.Say("x")),
		model.Answer{Blocks: []model.Block{model.Say("a b c")}, Pace: 10 * time.Millisecond, FirstToken: 20 * time.Millisecond},
	)})
	long := `,"instructions":"` + strings.Repeat("s", 4*1400) + `"`
	for i, want := range []int64{0, 1280} {
		h.tell(answers, res(`{"role":"user","content":"question `+string(rune('a'+i))+`"}`, long))
		if got := h.last().Usage; got.CacheRead != want || got.TotalInput() != 1403 {
			t.Errorf("request %d: %+v", i, got)
		}
	}
	from := time.Now()
	h.tell(answers, ask(answers, "x", true))
	if took := time.Since(from); took < 40*time.Millisecond {
		t.Errorf("took %v", took)
	}
}
