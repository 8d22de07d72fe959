package openai_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

// after is the request that follows resp, with results for its calls.
func after(resp *llm.Response) llm.Request {
	r := greeting()
	r.Messages = append(r.Messages, resp.Message)
	results := transcript.Message{Role: transcript.Tool}
	for _, c := range resp.Message.Calls() {
		results.Parts = append(results.Parts, transcript.ToolResult{ToolCallID: c.ID, Content: "seen"})
	}
	if len(results.Parts) > 0 {
		r.Messages = append(r.Messages, results)
	}
	return r
}

func TestItemsGoBackByteForByteInTheirOrder(t *testing.T) { // TX21, B05, E03, E04
	t.Parallel()
	strange := `{"id":"ws_1","type":"web_search_call", "n": 1.50,"status":"completed","x":"\u003c\u2028<"}`
	second := reasoning(3, "gAAA+/=<&>", "so")
	second.item = strings.ReplaceAll(second.item, "rs_1", "rs_2")
	for i := range second.events {
		second.events[i] = strings.ReplaceAll(second.events[i], "rs_1", "rs_2")
	}
	items := []output{
		reasoning(0, "gAAAAB\u003c", "one", "two"),
		saying(1, "I ", "look <b>"),
		{item: strange, events: []string{added(2, strange), done(2, strange)}},
		second,
		calling(4, "call_1", "look", `{"q" : `, `1}`),
	}
	s := serve(t, respond(items...), respond(saying(0, "ok")))
	m := newResponses(t, s, openai.Options{})
	resp, _, err := llmtest.Ask(t, m, greeting())
	if err != nil {
		t.Fatal(err)
	}
	finish := resp.Message.Parts[len(resp.Message.Parts)-1]
	want := []transcript.Part{
		transcript.Reasoning{Thinking: "one\n\ntwo"},
		transcript.Text{Text: "I look <b>"},
		transcript.Reasoning{Thinking: "so"},
		transcript.ToolCall{ID: "call_1", Name: "look", Input: `{"q" : 1}`, Finished: true},
		finish,
	}
	if diff := cmp.Diff(want, resp.Message.Parts); diff != "" {
		t.Error(diff)
	}
	// The history is written down and read again before it goes back.
	stored, err := resp.Message.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, &resp.Message); err != nil {
		t.Fatal(err)
	}
	if _, _, err := llmtest.Ask(t, m, after(resp)); err != nil {
		t.Fatal(err)
	}
	back := texts(sentTo(t, s).Input)
	wire := []string{items[0].item, items[1].item, strange, second.item, items[4].item}
	if diff := cmp.Diff(wire, back[1:6]); diff != "" {
		t.Error(diff)
	}
	if back[6] != `{"call_id":"call_1","output":"seen","type":"function_call_output"}` {
		t.Errorf("%s", back[6:])
	}

	for name, other := range map[string]openai.Options{"another model": {Model: "other"}, "a server that refuses it": {DropReasoning: true}} {
		if _, _, err := llmtest.Ask(t, newResponses(t, s, other), after(resp)); err != nil {
			t.Fatal(err)
		}
		if raw := s.last().raw; strings.Contains(raw, "gAAA") || !strings.Contains(raw, "call_1") {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

func TestReasoningThatWouldBeRefusedStaysBehind(t *testing.T) {
	t.Parallel()
	open := `{"id":"rs_9","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"I think"}]}`
	cutCall := calling(1, "call_1", "look", `{"q":`)
	cutCall.item = callItem("call_1", "look", `{"q":`, "incomplete")
	cutCall.events[len(cutCall.events)-1] = done(1, cutCall.item)
	for _, c := range []struct {
		name   string
		answer []string
		want   []string // behind the greeting
	}{
		{"without its content", respond(reasoning(0, ""), saying(1, "ok")), []string{messageItem("ok")}},
		{"at the end of an answer that was cut", ending("incomplete", `"usage":null`, saying(0, "ok"), reasoning(1, "ENC")), []string{messageItem("ok")}},
		{"that is readable goes back", respond(output{open, []string{added(0, open), done(0, open)}}, saying(1, "ok")), []string{open, messageItem("ok")}},
		{"and a call that was cut gets arguments that can be sent", ending("incomplete", `"usage":null`, reasoning(0, "ENC"), cutCall), []string{
			reasoningItem("ENC"),
			`{"arguments":"{\"_raw\":\"{\\\"q\\\":\"}","call_id":"call_1","id":"fc_call_1","name":"look","status":"incomplete","type":"function_call"}`,
			`{"call_id":"call_1","output":"seen","type":"function_call_output"}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer, respond(saying(0, "ok")))
			m := newResponses(t, s, openai.Options{})
			resp, _, err := llmtest.Ask(t, m, greeting())
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := llmtest.Ask(t, m, after(resp)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, texts(sentTo(t, s).Input)[1:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheItemThatWasDoneCountsMoreThanTheListAtTheEnd(t *testing.T) {
	t.Parallel()
	stream := respond(reasoning(0, "ENC"), saying(1, "ok"))
	end := len(stream) - 1
	stream[end] = strings.ReplaceAll(stream[end], "ENC", "OTHER")
	resp, _, err := llmtest.Ask(t, newResponses(t, serve(t, stream), openai.Options{}), greeting())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{reasoningItem("ENC"), messageItem("ok")}, texts(resp.Message.Native.Blocks)); diff != "" {
		t.Error(diff)
	}
}

func TestAProviderMayMoveFromOneProtocolToTheOther(t *testing.T) {
	t.Parallel()
	chat := serve(t, tool("call_1", "look", `{}`), text("ok"))
	responses := serve(t, respond(calling(0, "call_2", "look", `{}`)), respond(saying(0, "ok")))
	before, _, err := llmtest.Ask(t, newModel(t, chat, openai.Options{}), greeting())
	if err != nil {
		t.Fatal(err)
	}
	m := newResponses(t, responses, openai.Options{})
	then, _, err := llmtest.Ask(t, m, after(before))
	if err != nil {
		t.Fatal(err)
	}
	if in := texts(sentTo(t, responses).Input); len(in) != 3 || in[1] != `{"arguments":"{}","call_id":"call_1","name":"look","type":"function_call"}` {
		t.Errorf("%s", in)
	}
	if _, _, err := llmtest.Ask(t, newModel(t, chat, openai.Options{}), after(then)); err != nil {
		t.Fatal(err)
	}
	if raw := string(chat.last().Messages[1]); raw != `{"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"look"},"id":"call_2","type":"function"}]}` {
		t.Errorf("%s", raw)
	}
}

func TestIdsThatCannotBeSentAreReplacedOnBothSides(t *testing.T) {
	t.Parallel()
	bad := strings.Repeat("functions.look:", 4)
	s := serve(t, respond(calling(0, bad, "look", "{}"), calling(1, "same", "look", "{}"), calling(2, "same", "go", "{}")), respond(saying(0, "ok")))
	m := newResponses(t, s, openai.Options{})
	resp, _, err := llmtest.Ask(t, m, greeting())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := llmtest.Ask(t, m, after(resp)); err != nil {
		t.Fatal(err)
	}
	var calls, results []string
	for _, raw := range sentTo(t, s).Input[1:] {
		var item struct {
			Type   string
			CallID string `json:"call_id"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
		if item.Type == "function_call" {
			calls = append(calls, item.CallID)
		} else {
			results = append(results, item.CallID)
		}
	}
	if len(calls) != 3 || !slices.Equal(calls, results) || calls[0] == bad || calls[1] != "same" || calls[2] == "same" || len(calls[0]) > 40 {
		t.Errorf("%q %q", calls, results)
	}
}
