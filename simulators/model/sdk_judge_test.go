//go:build judges

package model_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/simulators/model"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
)

func (h *fixture) anthropic() anthropic.Client {
	return anthropic.NewClient(
		anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithBaseURL(h.URL()),
		anthropicoption.WithHTTPClient(h.client), anthropicoption.WithMaxRetries(0), anthropicoption.WithAPIKey("k"),
	)
}

func (h *fixture) openai() openai.Client {
	return openai.NewClient(
		openaioption.WithBaseURL(h.URL()+"/v1/"), openaioption.WithHTTPClient(h.client),
		openaioption.WithMaxRetries(0), openaioption.WithAPIKey("k"),
	)
}

func anthropicAsk(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "m", MaxTokens: 1000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func openaiAsk(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:         "m",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

func (h *fixture) accumulate(q anthropic.MessageNewParams) (anthropic.Message, error) {
	client := h.anthropic()
	stream := client.Messages.NewStreaming(h.t.Context(), q)
	defer func() { _ = stream.Close() }()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return m, err
		}
	}
	return m, stream.Err()
}

func TestAnthropicsOwnClientReadsThinkingTextAndParallelCallsAndMaySendThemBack(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{true, false} {
		h := start(t, model.Options{Brain: model.Scripted(rich(), model.Reply(model.Say("done")))})
		q := anthropicAsk("hello there")
		q.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}}
		for _, name := range []string{"a", "b"} {
			q.Tools = append(q.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
				Name: name, InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}},
			}})
		}
		ask := func() (anthropic.Message, error) {
			if streamed {
				return h.accumulate(q)
			}
			client := h.anthropic()
			m, err := client.Messages.New(t.Context(), q)
			return *m, err
		}
		m, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if m.StopReason != anthropic.StopReasonToolUse || len(m.Content) != 5 || !strings.HasPrefix(m.ID, "msg_01") {
			t.Fatalf("streamed %v: %s", streamed, m.RawJSON())
		}
		if got := m.Content[2].Text; got != rich().Blocks[2].Text {
			t.Errorf("text %q", got)
		}
		for i, want := range map[int]string{3: rich().Blocks[3].Input, 4: rich().Blocks[4].Input} {
			if got := string(m.Content[i].Input); got != want {
				t.Errorf("input %s, want %s", got, want)
			}
		}
		e := h.last()
		if m.Usage.OutputTokens != e.Usage.Output || m.Usage.InputTokens != e.Usage.Input || e.Usage.Reasoning == 0 || *e.Reported != e.Usage {
			t.Errorf("usage %s, bill %+v", m.Usage.RawJSON(), e)
		}
		q.Messages = append(q.Messages, m.ToParam(), anthropic.NewUserMessage(
			anthropic.NewToolResultBlock(m.Content[3].ID, "one", false), anthropic.NewToolResultBlock(m.Content[4].ID, "two", true)))
		m, err = ask()
		if err != nil || m.Content[0].Text != "done" || m.StopReason != anthropic.StopReasonEndTurn {
			t.Fatalf("after the tools: %v %s", err, m.RawJSON())
		}
	}
}

func TestOpenAIsOwnClientReadsTextAndParallelCallsAndMaySendThemBack(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{true, false} {
		h := start(t, model.Options{Brain: model.Scripted(rich(), model.Reply(model.Say("done")))})
		client := h.openai()
		q := openaiAsk("hello there")
		for _, name := range []string{"a", "b"} {
			q.Tools = append(q.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
				Name: name, Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{}},
			}))
		}
		ask := func() openai.ChatCompletion {
			if !streamed {
				plain := q
				plain.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
				c, err := client.Chat.Completions.New(t.Context(), plain)
				if err != nil {
					t.Fatal(err)
				}
				return *c
			}
			stream := client.Chat.Completions.NewStreaming(t.Context(), q)
			defer func() { _ = stream.Close() }()
			var a openai.ChatCompletionAccumulator
			for stream.Next() {
				if !a.AddChunk(stream.Current()) {
					t.Fatal("the accumulator refused a chunk")
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			return a.ChatCompletion
		}
		c := ask()
		m := c.Choices[0].Message
		if c.Choices[0].FinishReason != "tool_calls" || len(m.ToolCalls) != 2 || m.Content != rich().Blocks[2].Text {
			t.Fatalf("streamed %v: %s", streamed, c.RawJSON())
		}
		for i, call := range m.ToolCalls {
			if want := rich().Blocks[3+i]; call.Function.Name != want.Name || call.Function.Arguments != want.Input {
				t.Errorf("call %+v", call.Function)
			}
		}
		e := h.last()
		if c.Usage.CompletionTokens != e.Usage.Output || c.Usage.PromptTokens != e.Usage.Input ||
			c.Usage.CompletionTokensDetails.ReasoningTokens != e.Usage.Reasoning || e.Usage.Reasoning == 0 || *e.Reported != e.Usage {
			t.Errorf("usage %s, bill %+v", c.Usage.RawJSON(), e)
		}
		q.Messages = append(q.Messages, m.ToParam(), openai.ToolMessage("one", m.ToolCalls[0].ID), openai.ToolMessage("two", m.ToolCalls[1].ID))
		if c = ask(); c.Choices[0].Message.Content != "done" || c.Choices[0].FinishReason != "stop" {
			t.Fatalf("after the tools: %s", c.RawJSON())
		}
	}
}

func TestTheOfficialClientsSeeStatusAndRetryAfterOfA429(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	if err := h.Plan(model.Fault{Kind: model.FaultStatus, Status: 429, RetryAfter: model.Duration(7 * time.Second), Next: 2}); err != nil {
		t.Fatal(err)
	}
	a := h.anthropic()
	_, err := a.Messages.New(t.Context(), anthropicAsk("x"))
	ae, ok := errors.AsType[*anthropic.Error](err)
	if !ok || ae.StatusCode != http.StatusTooManyRequests || ae.Response.Header.Get("Retry-After") != "7" || ae.RequestID != h.last().ID {
		t.Errorf("anthropic: %v", err)
	}
	o := h.openai()
	q := openaiAsk("x")
	q.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	_, err = o.Chat.Completions.New(t.Context(), q)
	oe, ok := errors.AsType[*openai.Error](err)
	if !ok || oe.StatusCode != http.StatusTooManyRequests || oe.Response.Header.Get("Retry-After") != "7" || oe.Code != "rate_limit_exceeded" {
		t.Errorf("openai: %v", err)
	}
	if b := h.Bill(); b.Outcomes[model.Refused] != 2 || b.Usage != (model.Usage{}) {
		t.Errorf("bill %+v", b)
	}
}

func TestTheOfficialClientsNoticeBrokenStreams(t *testing.T) {
	t.Parallel()
	for _, kind := range []model.FaultKind{model.FaultCut, model.FaultClose, model.FaultErrorEvent, model.FaultGarbage} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			h := start(t, model.Options{})
			if err := h.Plan(model.Fault{Kind: kind, After: 4, Next: 2}); err != nil {
				t.Fatal(err)
			}
			if m, err := h.accumulate(anthropicAsk("one two three four")); err == nil {
				t.Errorf("anthropic took it for an answer: %s", m.RawJSON())
			}
			client := h.openai()
			stream := client.Chat.Completions.NewStreaming(t.Context(), openaiAsk("one two three four five six"))
			defer func() { _ = stream.Close() }()
			for stream.Next() {
			}
			if stream.Err() == nil {
				t.Error("openai took it for an answer")
			}
		})
	}
}
