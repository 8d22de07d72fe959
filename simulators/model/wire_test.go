package model_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/simulators/model"
)

func TestAnthropicsEventsComeInTheirOrderAndTellUsageTwice(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Scripted(model.Answer{
		Blocks: []model.Block{model.Think("hm"), model.Say("one two"), model.Use("f", `{"a":1}`)},
		Usage:  &model.Usage{Input: 6, CacheRead: 6289, CacheWrite5m: 3000, CacheWrite1h: 337, Output: 99},
		Start:  &model.Usage{Input: 2, CacheWrite5m: 3068},
	})})
	_, header, body, _ := h.post(messages, ask(messages, "hi", true))
	names, data := events(t, body)
	want := []string{
		"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
	}
	if !slices.Equal(names, want) {
		t.Errorf("events %v", names)
	}
	if got := compact(t, data[0]["message"].(map[string]any)["usage"]); got != `{"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":3068},"cache_creation_input_tokens":3068,"cache_read_input_tokens":0,"inference_geo":"global","input_tokens":2,"output_tokens":1,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":null,"service_tier":"standard","speed":null}` {
		t.Errorf("first usage %s", got)
	}
	if got := compact(t, data[14]); got != `{"delta":{"container":null,"stop_details":null,"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"cache_creation_input_tokens":3337,"cache_read_input_tokens":6289,"input_tokens":6,"output_tokens":99,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":null}}` {
		t.Errorf("last usage %s", got)
	}
	if got := compact(t, data[10]["content_block"]); !strings.HasPrefix(got, `{"caller":{"type":"direct"},"id":"toolu_01`) || !strings.HasSuffix(got, `"input":{},"name":"f","type":"tool_use"}`) {
		t.Errorf("call %s", got)
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") || header.Get("Request-Id") != h.last().ID {
		t.Errorf("header %v", header)
	}
}

func TestOpenAIsChunksEndWithUsageAndDoneWhenUsageIsAskedFor(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	body := ask(completions, "one two", true)
	_, _, text, _ := h.post(completions, body)
	names, data := events(t, text)
	if n := len(names); n != 6 || names[n-1] != "[DONE]" {
		t.Fatalf("chunks %v", names)
	}
	for i, want := range []string{
		`[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}]`,
		`[{"delta":{"content":"one "},"finish_reason":null,"index":0,"logprobs":null}]`,
		`[{"delta":{"content":"two"},"finish_reason":null,"index":0,"logprobs":null}]`,
		`[{"delta":{},"finish_reason":"stop","index":0,"logprobs":null}]`,
		`[]`,
	} {
		if got := compact(t, data[i]["choices"]); got != want {
			t.Errorf("chunk %d: %s", i, got)
		}
		if usage, there := data[i]["usage"]; !there || (usage != nil) != (i == 4) || data[i]["id"] != data[0]["id"] || data[i]["object"] != "chat.completion.chunk" {
			t.Errorf("chunk %d: %v", i, data[i])
		}
	}
	if got := data[4]["usage"].(map[string]any); got["total_tokens"] != 4.0 || got["prompt_tokens"] != 2.0 {
		t.Errorf("usage %v", got)
	}
	without := strings.Replace(body, `"stream_options":{"include_usage":true}`, `"store":false`, 1)
	_, _, text, _ = h.post(completions, without)
	if _, data := events(t, text); len(data) != 5 || strings.Contains(text, "usage") {
		t.Errorf("without being asked: %s", text)
	}
	if e := h.last(); e.Reported != nil || e.Usage.Output != 2 {
		t.Errorf("bill %+v", e)
	}
}

func TestAnAnswerIsCutOffAtItsMostTokens(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	for _, path := range []string{messages, completions} {
		for _, stream := range []string{"true", "false"} {
			_, _, text, _ := h.post(path, `{"model":"m","max_tokens":2,"stream":`+stream+`,"messages":[{"role":"user","content":"123456€89 and more"}]}`)
			reason := map[string]string{messages: `"stop_reason":"max_tokens"`, completions: `"finish_reason":"length"`}[path]
			if !strings.Contains(text, reason) || !strings.Contains(text, `"123456"`) {
				t.Errorf("%s", text)
			}
			if e := h.last(); e.Usage.Output != 2 {
				t.Errorf("bill %+v", e)
			}
		}
	}
}

func TestABillIsTheSumOfTokensTimesPrices(t *testing.T) {
	t.Parallel()
	u := model.Usage{Input: 1, CacheRead: 10, CacheWrite5m: 100, CacheWrite1h: 1000, Output: 10_000, Reasoning: 5}
	answer := model.Answer{Blocks: []model.Block{model.Say("x")}, Usage: &u}
	huge := model.Answer{Usage: &model.Usage{Input: math.MaxInt64 / 2}}
	h := start(t, model.Options{
		Brain:  model.Scripted(answer, answer, answer, huge),
		Prices: map[string]model.Price{"m": {Input: 3_000_000, CacheRead: 300_000, CacheWrite5m: 3_750_000, CacheWrite1h: 6_000_000, Output: 15_000_000}},
	})
	const want = 3_000_000 + 10*300_000 + 100*3_750_000 + 1000*6_000_000 + 10_000*15_000_000
	h.tell(messages, ask(messages, "x", true))
	h.tell(completions, ask(completions, "x", false))
	h.tell(messages, strings.Replace(ask(messages, "x", false), `"m"`, `"other"`, 1))
	b := h.Bill()
	if b.Entries[0].Pico != want || !b.Entries[0].Priced || b.Pico != 2*want || b.Unpriced != 1 || b.Usage.Output != 30_000 || b.Open != 0 {
		t.Errorf("bill %+v", b)
	}
	h.tell(messages, ask(messages, "x", false))
	if b := h.Bill(); b.Pico != math.MaxInt64 {
		t.Errorf("sum wrapped around: %d", b.Pico)
	}
}

func TestPacedAnswersPauseBeforeEveryWord(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Scripted(model.Answer{
		Blocks:  []model.Block{model.Say("a b c")},
		Latency: 20 * time.Millisecond, FirstToken: 20 * time.Millisecond, Pace: 10 * time.Millisecond,
	})})
	from := time.Now()
	_, _, body, _ := h.post(messages, ask(messages, "x", true))
	if took := time.Since(from); took < 60*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if names, _ := events(t, body); len(names) != 9 || h.last().Outcome != model.Complete {
		t.Errorf("events %v, bill %+v", names, h.last())
	}
}

func TestBreakpointsWriteAndReadTheCacheOfAnthropic(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := start(t, model.Options{MinCacheTokens: 2, Now: func() time.Time { return now }})
	mark := func(text, ttl string) string {
		return `{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral"` + ttl + `}}`
	}
	hour := `,"ttl":"1h"`
	system := `,"system":[` + mark("12345678", hour) + `]`
	first := anth(`{"role":"user","content":[`+mark("abcd", "")+`]}`, system)
	next := anth(`{"role":"user","content":"abcd"},{"role":"assistant","content":"efgh"},{"role":"user","content":[`+mark("ijkl", "")+`,{"type":"text","text":"z"}]}`, system)
	tool := `,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	tooled, forbidden := anth(`{"role":"user","content":[`+mark("abcd", "")+`]}`, system+tool), anth(`{"role":"user","content":[`+mark("abcd", "")+`]}`, system+tool+`,"tool_choice":{"type":"none"}`)
	for i, step := range []struct {
		body string
		wait time.Duration
		want model.Usage // without output
	}{
		{first, 0, model.Usage{CacheWrite1h: 2, CacheWrite5m: 1}},
		{first, 4 * time.Minute, model.Usage{CacheRead: 3}},
		{next, 4 * time.Minute, model.Usage{CacheRead: 3, CacheWrite5m: 2, Input: 1}},
		{next, 6 * time.Minute, model.Usage{CacheRead: 2, CacheWrite5m: 3, Input: 1}},
		{strings.Replace(next, `"m"`, `"n"`, 1), 0, model.Usage{CacheWrite1h: 2, CacheWrite5m: 3, Input: 1}},
		{anth(hi, ""), 0, model.Usage{Input: 1}},
		{next, 2 * time.Hour, model.Usage{CacheWrite1h: 2, CacheWrite5m: 3, Input: 1}},
		// Another tool_choice leaves what is cached of tools and system, and no message.
		{tooled, 0, model.Usage{CacheWrite1h: 7, CacheWrite5m: 1}},
		{tooled, 0, model.Usage{CacheRead: 8}},
		{forbidden, 0, model.Usage{CacheRead: 7, CacheWrite5m: 1}},
	} {
		now = now.Add(step.wait)
		h.tell(messages, step.body)
		got := h.last().Usage
		got.Output = 0
		if got != step.want {
			t.Errorf("step %d: %+v, want %+v", i, got, step.want)
		}
	}
}

func TestOpenAICachesLongPrefixesByItself(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	long := `{"role":"system","content":"` + strings.Repeat("s", 4*1400) + `"}`
	for i, want := range []int64{0, 1280} { // 1400 rounded down to 128 tokens
		h.tell(completions, oai(long+`,{"role":"user","content":"question `+string(rune('a'+i))+`"}`, ""))
		if got := h.last().Usage; got.CacheRead != want || got.TotalInput() != 1403 {
			t.Errorf("request %d: %+v", i, got)
		}
	}
}

func TestTheSameSeedGivesTheSameIdentifiers(t *testing.T) {
	t.Parallel()
	ids := func(seed uint64) string {
		h := start(t, model.Options{Seed: seed, Brain: model.Scripted(model.Reply(model.Use("f", nil)))})
		_, _, body, _ := h.post(messages, ask(messages, "x", false))
		return h.last().ID + body
	}
	seven, again, eight := ids(7), ids(7), ids(8)
	if seven != again {
		t.Error("seed 7 gave different ones")
	}
	if random, other := ids(0), ids(0); seven == eight || random == other {
		t.Error("other seeds gave the same")
	}
}

func TestABrainThatPanicsLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: func(context.Context, *model.Prompt) model.Answer { panic("on purpose") }})
	if res, err := h.send(t.Context(), messages, ask(messages, "x", true)); err == nil {
		t.Errorf("answered: %s", text(t, res))
	}
	if e := <-h.served; e.Outcome != model.Aborted || h.Bill().Open != 0 {
		t.Errorf("bill %+v", e)
	}
}
