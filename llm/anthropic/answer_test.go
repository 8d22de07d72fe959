package anthropic_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

func TestLaterUsageReplacesWhatItNamesAndNeverAdds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first, last string
		want              costs.Usage
		warns             bool
	}{
		{
			// A recorded answer of a provider tool: the counts rise at the end.
			name:  "the cumulative end",
			first: `{"input_tokens":2,"cache_creation_input_tokens":3068,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":3068,"ephemeral_1h_input_tokens":0},"output_tokens":4}`,
			last:  `,"usage":{"input_tokens":6,"cache_creation_input_tokens":3337,"cache_read_input_tokens":6289,"output_tokens":127}`,
			want:  costs.Usage{Input: 6, CacheWrite5m: 3337, CacheRead: 6289, Output: 127, Source: costs.Reported},
			warns: true, // the lifetime of 269 tokens was not reported
		},
		{
			name:  "a proxy that reports the input only at the end",
			first: `{"input_tokens":0,"output_tokens":0}`,
			last:  `,"usage":{"input_tokens":43,"output_tokens":61}`,
			want:  costs.Usage{Input: 43, Output: 61, Source: costs.Reported},
		},
		{
			name:  "cache writes without a split",
			first: `{"input_tokens":1,"cache_creation_input_tokens":5}`,
			last:  `,"usage":{"output_tokens":2}`,
			want:  costs.Usage{Input: 1, CacheWrite5m: 5, Output: 2, Source: costs.Reported},
		},
		{
			name:  "an hour's cache, with tier, speed and place",
			first: `{"input_tokens":1,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":5},"service_tier":"priority","inference_geo":"us"}`,
			last:  `,"usage":{"output_tokens":2,"speed":"fast"}`,
			want:  costs.Usage{Input: 1, CacheWrite1h: 5, Output: 2, Tier: "priority", Speed: "fast", Geo: "us", Source: costs.Reported},
		},
		{
			name:  "nulls leave what was said",
			first: `{"input_tokens":1,"cache_read_input_tokens":9}`,
			last:  `,"usage":{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":2}`,
			want:  costs.Usage{Input: 1, CacheRead: 9, Output: 2, Source: costs.Reported},
		},
		{
			name:  "sub-calls that the top does not count",
			first: `{"input_tokens":1,"output_tokens":1}`,
			last: `,"usage":{"input_tokens":10,"output_tokens":5,"iterations":[
				{"type":"compaction","input_tokens":180000,"output_tokens":3500,"cache_read_input_tokens":7},
				{"type":"advisor_message","model":"claude-opus-5-5","input_tokens":20,"output_tokens":6},
				{"type":"message","input_tokens":10,"output_tokens":5}]}`,
			want: costs.Usage{Input: 10, Output: 5, Source: costs.Reported, Iterations: []costs.Iteration{
				{Kind: "compaction", Usage: costs.Usage{Input: 180000, Output: 3500, CacheRead: 7, Source: costs.Reported}},
				{Kind: "advisor_message", Model: "claude-opus-5-5", Usage: costs.Usage{Input: 20, Output: 6, Source: costs.Reported}},
				{Kind: "message", Usage: costs.Usage{Input: 10, Output: 5, Source: costs.Reported}},
			}},
		},
		{
			name:  "no usage at the end",
			first: `{"input_tokens":11,"output_tokens":1}`,
			last:  ``,
			want:  costs.Usage{Input: 11, Output: 2, Source: costs.Estimated},
			warns: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer := join([]string{start(c.first)}, block(0, `{"type":"text","text":""}`, textDeltas([]string{"12345678"})...), end("end_turn", strings.ReplaceAll(c.last, "\n", "")))
			resp, warnings, err := llmtest.Ask(t, newModel(t, serve(t, answer), model), greeting())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, resp.Usage); diff != "" {
				t.Error(diff)
			}
			if c.warns != (len(warnings) > 0) {
				t.Errorf("warnings: %q", warnings)
			}
			if resp.Model != "claude-opus-4-8-20260528" || resp.RequestID != "req_7" {
				t.Errorf("%+v", resp)
			}
		})
	}
}

func greeting() llm.Request {
	return llm.Request{Messages: []transcript.Message{said(transcript.User, words("go"))}}
}

func TestABrokenStreamTellsWhatItMayHaveCost(t *testing.T) {
	t.Parallel()
	answer := text("12345", "678")
	_, _, err := llmtest.Ask(t, newModel(t, serve(t, answer[:5]), model), greeting())
	fault, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatal(err)
	}
	want := &costs.Usage{Input: 10, CacheRead: 20, CacheWrite5m: 3, CacheWrite1h: 4, Output: 1, Tier: "standard", Source: costs.Estimated}
	if diff := cmp.Diff(want, fault.Usage); diff != "" {
		t.Error(diff)
	}
	if !fault.Sent || !fault.Visible || fault.Received != 8 || fault.RequestID != "req_7" || fault.Status != 200 {
		t.Errorf("%+v", fault)
	}
}

func TestEveryStopReasonHasAnEnd(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		want  transcript.FinishReason
		warns bool
	}{
		"end_turn":                      {transcript.EndTurn, false},
		"stop_sequence":                 {transcript.EndTurn, false},
		"tool_use":                      {transcript.ToolUse, false},
		"max_tokens":                    {transcript.MaxTokens, false},
		"model_context_window_exceeded": {transcript.ContextLimit, false},
		"refusal":                       {transcript.Refusal, false},
		"pause_turn":                    {llm.PauseTurn, false},
		"something_new":                 {transcript.ToolUse, true}, // there is a call
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			answer := tool("toolu_1", "look", `{"a":1`)
			answer = append(slices.Clone(answer[:len(answer)-2]), end(reason, lastUsage)...)
			resp, warnings, err := llmtest.Ask(t, newModel(t, serve(t, answer), model), greeting())
			if err != nil {
				t.Fatal(err)
			}
			if resp.Finish != c.want || c.warns != (len(warnings) > 0) {
				t.Errorf("%s, %q", resp.Finish, warnings)
			}
			if finished := resp.Message.Calls()[0].Finished; finished != (reason != "max_tokens") {
				t.Errorf("a call with half its arguments is finished: %v", finished)
			}
		})
	}
	resp, warnings, err := llmtest.Ask(t, newModel(t, serve(t, join([]string{start(firstUsage)}, end("something_new", lastUsage))), model), greeting())
	if err != nil || resp.Finish != transcript.EndTurn || len(warnings) == 0 || len(resp.Message.Parts) != 1 {
		t.Errorf("an empty answer: %+v, %q, %v", resp, warnings, err)
	}
}

func TestEventsOutOfOrderAreMalformed(t *testing.T) {
	t.Parallel()
	open := event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for name, answer := range map[string][]string{
		"no beginning":                  text("a")[2:],
		"a block is left out":           append([]string{start(firstUsage)}, block(1, `{"type":"text","text":""}`)...),
		"a delta without a block":       append([]string{start(firstUsage)}, block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"a"}`)[1:]...),
		"a block is not closed":         join([]string{start(firstUsage), open}, end("end_turn", lastUsage)),
		"a block is closed twice":       join([]string{start(firstUsage), open}, slices.Repeat([]string{event("content_block_stop", `{"type":"content_block_stop","index":0}`)}, 2)),
		"a block of no type":            {start(firstUsage), event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{}}`)},
		"a call without a name":         append([]string{start(firstUsage)}, block(0, `{"type":"tool_use","id":"x","input":{}}`)...),
		"usage that is no number":       {start(`{"input_tokens":"many"}`)},
		"an index that is no number":    {start(firstUsage), event("content_block_stop", `{"type":"content_block_stop","index":"x"}`)},
		"a negative index":              {start(firstUsage), event("content_block_stop", `{"type":"content_block_stop","index":-1}`)},
		"message_start without message": {event("message_start", `{"type":"message_start"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := llmtest.Ask(t, newModel(t, serve(t, answer), model), greeting())
			if fault, ok := errors.AsType[*llm.Error](err); !ok || fault.Kind != llm.Malformed {
				t.Errorf("%+v", err)
			}
		})
	}
}

func TestNewKindsOfEventsBlocksAndDeltasAreSurvived(t *testing.T) {
	t.Parallel()
	answer := join([]string{start(firstUsage), event("weather", `{"type":"weather","sun":true}`)},
		block(0, `{"type":"hologram","data":[1,2,{"x":"<&>"}]}`, `{"type":"hologram_delta","voxel":1}`),
		block(1, `{"type":"text","text":"a","citations":null}`, `{"type":"citations_delta","citation":{"type":"char_location","cited_text":"<x>"}}`, `{"type":"text_delta","text":"b"}`),
		block(2, `{"type":"tool_use","name":"look","input":{"k":1}}`), end("tool_use", lastUsage))
	resp, warnings, err := llmtest.Ask(t, newModel(t, serve(t, answer), model), greeting())
	if err != nil || len(warnings) != 2 || resp.Message.Text() != "ab" {
		t.Fatalf("%+v, %q, %v", resp, warnings, err)
	}
	call := resp.Message.Calls()[0]
	if call.ID == "" || call.Input != `{"k":1}` {
		t.Errorf("%+v", call)
	}
	want := []string{
		`{"type":"hologram","data":[1,2,{"x":"<&>"}]}`,
		`{"type":"text","text":"ab","citations":[{"type":"char_location","cited_text":"<x>"}]}`,
		`{"type":"tool_use","name":"look","input":{"k":1},"id":"` + call.ID + `"}`,
	}
	var got []string
	for _, b := range resp.Message.Native.Blocks {
		got = append(got, string(b))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
