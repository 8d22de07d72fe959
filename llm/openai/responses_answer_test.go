package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
	"parley/transcript"
)

// parts are what an answer came to, without its end.
func parts(resp *llm.Response) (list []string) {
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case transcript.Text:
			list = append(list, "says "+p.Text)
		case transcript.Reasoning:
			list = append(list, "thinks "+p.Thinking)
		case transcript.ToolCall:
			list = append(list, fmt.Sprintf("calls %s %s %s %v", p.ID, p.Name, p.Input, p.Finished))
		}
	}
	return list
}

// without leaves out the events of these types.
func without(stream []string, kinds ...string) []string {
	return slices.DeleteFunc(slices.Clone(stream), func(e string) bool {
		return slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(e, "event: "+k+"\n") })
	})
}

// spoiled has another text in every event.
func spoiled(stream []string, old, replacement string) []string {
	out := slices.Clone(stream)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], old, replacement)
	}
	return out
}

func TestAnAnswerIsWholeHoweverItsEventsCome(t *testing.T) {
	t.Parallel()
	whole := respond(reasoning(0, "ENC", "hm"), saying(1, "Hel", "lo"), calling(2, "call_1", "look", `{"q":`, `1}`))
	want := []string{"thinks hm", "says Hello", `calls call_1 look {"q":1} true`}
	deltas := []string{"response.output_text.delta", "response.reasoning_summary_text.delta", "response.function_call_arguments.delta"}
	renamed := slices.Clone(whole)
	for i := range renamed { // every event has names of its own
		for _, id := range []string{"rs_1", "msg_1", "fc_call_1"} {
			renamed[i] = strings.ReplaceAll(renamed[i], `"`+id+`"`, fmt.Sprintf(`"%s_%d"`, id, i))
		}
	}
	for _, c := range []struct {
		name   string
		events []string
	}{
		{"all of them", whole},
		{"without deltas", without(whole, deltas...)},
		{"without arguments but at the end", without(whole, "response.function_call_arguments.delta", "response.function_call_arguments.done")},
		{"without announcing items", without(whole, "response.output_item.added", "response.content_part.added")},
		{"without items that are done", without(whole, "response.output_item.done")},
		{"only the end", whole[len(whole)-1:]},
		{"without a list at the end", append(slices.Clone(whole[:len(whole)-1]), event("response.completed", state("completed", "", `"usage":`+responseUsage)))},
		{"every item is number 0", spoiled(spoiled(whole, `"output_index":1`, `"output_index":0`), `"output_index":2`, `"output_index":0`)},
		{"no numbers", spoiled(spoiled(spoiled(whole, `"output_index":0,`, ``), `"output_index":1,`, ``), `"output_index":2,`, ``)},
		{"other names in each event", renamed},
		{"the type only in the event's name", spoiled(whole, `{"type":"response.`, `{"typ":"response.`)},
		{"a done that comes twice", append(append(slices.Clone(whole[:len(whole)-1]), done(1, messageItem("Hello"))), whole[len(whole)-1])},
		{"events that nobody knows", append([]string{"event: keepalive\ndata: {\"type\":\"keepalive\",\"item\":3,\"response\":[]}\n\n", event("response.sparkle", `"delta":{"a":1},"output_index":"x"`), ": comment\n\n"}, whole...)},
		{"response.done instead", spoiled(whole, "response.completed", "response.done")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all, err := events(t, newResponses(t, serve(t, c.events), openai.Options{}), greeting())
			if err != nil {
				t.Fatal(err)
			}
			resp := all[len(all)-1].Response
			if diff := cmp.Diff(want, parts(resp)); diff != "" {
				t.Error(diff)
			}
			shown := map[llm.EventType]string{}
			for _, e := range all {
				shown[e.Type] += e.Text
			}
			if shown[llm.ContentDelta] != "Hello" || shown[llm.ThinkingDelta] != "hm" || shown[llm.ToolUseDelta] != `{"q":1}` {
				t.Errorf("shown: %q", shown)
			}
			if resp.Finish != transcript.ToolUse || resp.Usage.Output != 9 || resp.RequestID != "req_7" || resp.Model != "gpt-5.6-sol-2026" {
				t.Errorf("%+v", resp)
			}
		})
	}
}

func TestCallsWithoutNamesAndNumbersStayApart(t *testing.T) {
	t.Parallel()
	stream := respond(calling(0, "a", "look", `{"q":1}`), calling(0, "b", "look", `{"q":2}`))
	for i := range stream {
		stream[i] = strings.NewReplacer(`"output_index":0,`, "", `"fc_a"`, fmt.Sprintf(`"a%d"`, i), `"fc_b"`, fmt.Sprintf(`"b%d"`, i)).Replace(stream[i])
	}
	for name, s := range map[string][]string{"announced": stream, "not announced": without(stream, "response.output_item.added")} {
		resp, _, err := llmtest.Ask(t, newResponses(t, serve(t, s), openai.Options{}), greeting())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`calls a look {"q":1} true`, `calls b look {"q":2} true`}, parts(resp)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatIsShownIsOpenedAndClosed(t *testing.T) {
	t.Parallel()
	two := respond(reasoning(0, "ENC", "hm"), saying(1, "a"), output{messageItem("b"), spoiled(saying(2, "b").events, "msg_1", "msg_2")}, calling(3, "c", "look", "{}"))
	all, err := events(t, newResponses(t, serve(t, two), openai.Options{}), greeting())
	if err != nil {
		t.Fatal(err)
	}
	var got []llm.EventType
	for _, e := range all {
		got = append(got, e.Type)
	}
	want := []llm.EventType{
		llm.ThinkingDelta, llm.ContentStart, llm.ContentDelta, llm.ContentStop, llm.ContentStart, llm.ContentDelta, llm.ContentStop,
		llm.ToolUseStart, llm.ToolUseDelta, llm.ToolUseStop, llm.Complete,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestThinkingOfTwoSourcesCountsOnce(t *testing.T) { // TX08
	t.Parallel()
	item := `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":[{"type":"reasoning_text","text":"hm"}]}`
	at := place(0, "rs_1")
	both := output{item, []string{
		added(0, `{"id":"rs_1","type":"reasoning","summary":[]}`),
		event("response.reasoning_text.delta", at+`,"content_index":0,"delta":"hm"`),
		event("response.reasoning_summary_text.delta", at+`,"summary_index":0,"delta":"hm"`),
		done(0, item),
	}}
	for name, stream := range map[string][]string{"with deltas": respond(both, saying(1, "ok")), "without": respond(output{item, both.events[3:]}, saying(1, "ok"))} {
		resp, _, err := llmtest.Ask(t, newResponses(t, serve(t, stream), openai.Options{}), greeting())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"thinks hm", "says ok"}, parts(resp)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEveryEndOfAResponseHasAReason(t *testing.T) {
	t.Parallel()
	why := func(reason string) string {
		return `"usage":` + responseUsage + `,"incomplete_details":{"reason":"` + reason + `"}`
	}
	refusal := `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"I will not."}]}`
	refusing := output{refusal, []string{added(0, `{"id":"msg_1","type":"message","content":[]}`), event("response.refusal.delta", place(0, "msg_1")+`,"delta":"I will "`), done(0, refusal)}}
	half := calling(1, "c", "look", `{"q":`)
	half.events, half.item = half.events[:2], callItem("c", "look", `{"q":`, "incomplete")
	for _, c := range []struct {
		name   string
		answer []string
		want   transcript.FinishReason
		parts  []string
		warns  bool
	}{
		{"completed", respond(saying(0, "a")), transcript.EndTurn, []string{"says a"}, false},
		{"completed with a call", respond(calling(0, "c", "look", "")), transcript.ToolUse, []string{"calls c look {} true"}, false},
		{"a refusal", respond(refusing), transcript.Refusal, []string{"says I will not."}, false},
		{"cut by the limit", ending("incomplete", why("max_output_tokens"), saying(0, "a")), transcript.MaxTokens, []string{"says a"}, false},
		{"cut by the limit before anything came", ending("incomplete", why("max_output_tokens")), transcript.MaxTokens, nil, false},
		{"cut by the limit within a call", ending("incomplete", why("max_output_tokens"), saying(0, "a"), half), transcript.MaxTokens, []string{"says a", `calls c look {"q": false`}, false},
		{"cut by the limit behind a call", ending("incomplete", why("max_output_tokens"), calling(0, "c", "look", "{}")), transcript.MaxTokens, []string{"calls c look {} true"}, false},
		{"cut by the filter", ending("incomplete", why("content_filter"), saying(0, "a")), transcript.Refusal, []string{"says a"}, true},
		{"cut for a new reason", ending("incomplete", why("tired"), saying(0, "a")), transcript.EndTurn, []string{"says a"}, true},
		{"incomplete that calls itself completed", spoiled(ending("incomplete", why("max_output_tokens"), saying(0, "a")), "response.incomplete", "response.completed"), transcript.MaxTokens, []string{"says a"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp, warnings, err := llmtest.Ask(t, newResponses(t, serve(t, c.answer), openai.Options{}), greeting())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.parts, parts(resp)); diff != "" || resp.Finish != c.want || c.warns != (len(warnings) > 0) {
				t.Errorf("%s %q %s", resp.Finish, warnings, diff)
			}
		})
	}
}

func TestFailuresOfAResponseAreNamed(t *testing.T) {
	t.Parallel()
	failed := func(code string) []string {
		more := fmt.Sprintf(`"usage":%s,"error":{"code":%q,"message":"no luck"}`, responseUsage, code)
		whole := ending("failed", more, saying(0, "a"))
		return append(whole[:len(whole)-1], strings.Replace(whole[len(whole)-1], `"error":null,`, "", 1))
	}
	for _, c := range []struct {
		name   string
		answer []string
		want   llm.Kind
	}{
		{"failed", failed("server_error"), llm.Server},
		{"failed by a limit", failed("rate_limit_exceeded"), llm.RateLimited},
		{"failed by the window", failed("context_length_exceeded"), llm.ContextLength},
		{"failed by the prompt", failed("invalid_prompt"), llm.InvalidRequest},
		{"failed by a policy", failed("bio_policy"), llm.ContentFilter},
		{"failed by a picture", failed("failed_to_download_image"), llm.InvalidRequest},
		{"failed without a reason", ending("failed", `"usage":null`), llm.Server},
		{"failed that calls itself completed", spoiled(failed("rate_limit_exceeded"), "response.failed", "response.completed"), llm.RateLimited},
		{"completed with an error", spoiled(ending("completed", `"usage":null`, saying(0, "a")), `"error":null`, `"error":{"code":"rate_limit_exceeded","message":"no luck"}`)[1:], llm.RateLimited},
		{"cancelled", ending("cancelled", `"usage":null`), llm.Server},
		{"an error as documented", []string{event("error", `"code":"rate_limit_exceeded","message":"no luck","param":null`)}, llm.RateLimited},
		{"an error inside of an error", []string{event("error", `"error":{"type":"too_many_requests","code":"too_many_requests","message":"no luck","param":null}`)}, llm.RateLimited},
		{"an error without a type", []string{data(`{"error":{"code":"insufficient_quota","message":"no luck"}}`)}, llm.Quota},
		{"an error without anything", []string{event("error", `"code":null,"message":""`)}, llm.Server},
		{"nothing said", respond(), llm.Empty},
		{"the end of the other protocol", append(without(respond(saying(0, "a")), "response.completed"), data("[DONE]")), llm.Network},
		{"an end without a response", []string{event("response.completed", `"x":1`)}, llm.Malformed},
		{"an end with a new status", []string{event("response.done", state("dreaming", "", `"usage":null`))}, llm.Malformed},
		{"an item of the wrong shape", []string{done(0, `[1]`)}, llm.Malformed},
		{"an item without a type", []string{done(0, `{"id":"x"}`)}, llm.Malformed},
		{"a call without a name", respond(calling(0, "c", "", "{}")), llm.Malformed},
		{"content of the wrong shape", []string{done(0, `{"type":"message","content":5}`)}, llm.Malformed},
		{"items without an end", slices.Repeat([]string{added(0, `{"type":"message","content":[]}`)}, 1100), llm.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := llmtest.Ask(t, newResponses(t, serve(t, c.answer), openai.Options{}), greeting())
			fault, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.Kind != c.want || !fault.Sent || fault.Status != http.StatusOK {
				t.Fatalf("%+v", err)
			}
			if strings.Contains(strings.Join(c.answer, ""), "no luck") && fault.Message != "no luck" {
				t.Errorf("%+v", fault)
			}
		})
	}
	t.Run("and what they cost is told", func(t *testing.T) {
		t.Parallel()
		_, _, err := llmtest.Ask(t, newResponses(t, serve(t, failed("server_error")), openai.Options{}), greeting())
		fault, ok := errors.AsType[*llm.Error](err)
		if !ok || fault.Usage == nil || fault.Usage.Output != 9 || fault.Usage.CacheRead != 20 || !fault.Visible || fault.Received != 1 || fault.Retryable() {
			t.Errorf("%+v", fault)
		}
	})
}

func TestUsageOfResponsesBecomesDisjointBuckets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, usage, tier string
		want              costs.Usage
	}{
		{"plain", `{"input_tokens":10,"output_tokens":5,"total_tokens":15}`, "default", costs.Usage{Input: 10, Output: 5}},
		{"cached and written are part of the input, reasoning of the output", responseUsage, "priority", costs.Usage{Input: 8, CacheRead: 20, CacheWrite5m: 2, Output: 9, Reasoning: 4}},
		{"reasoning beside the output, as the total shows", `{"input_tokens":468,"output_tokens":82,"total_tokens":870,"output_tokens_details":{"reasoning_tokens":320}}`, "", costs.Usage{Input: 468, Output: 402, Reasoning: 320}},
		{"details that are null", `{"input_tokens":10,"output_tokens":5,"input_tokens_details":null,"output_tokens_details":null}`, "flex", costs.Usage{Input: 10, Output: 5}},
		{"OpenRouter's charge", `{"input_tokens":10,"output_tokens":5,"cost":0.25,"is_byok":false}`, "", costs.Usage{Input: 10, Output: 5, Charged: amount(250_000_000_000)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream := spoiled(ending("completed", `"usage":`+c.usage, saying(0, "a")), `"service_tier":"default"`, `"service_tier":`+llmtest.Quote(c.tier))
			stream[0] = strings.Replace(stream[0], `"service_tier":`+llmtest.Quote(c.tier), `"service_tier":"auto"`, 1)
			if c.tier == "" {
				stream = spoiled(stream, `"service_tier":"auto"`, `"service_tier":null`)
			}
			resp, _, err := llmtest.Ask(t, newResponses(t, serve(t, stream), openai.Options{}), greeting())
			if err != nil {
				t.Fatal(err)
			}
			c.want.Source, c.want.Tier = costs.Reported, c.tier
			if diff := cmp.Diff(c.want, resp.Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}
