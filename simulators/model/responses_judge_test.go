//go:build judges

package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/simulators/model"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func TestOpenAIsOwnClientReadsResponsesAndMaySendThemBack(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{true, false} {
		h := start(t, model.Options{Brain: model.Scripted(rich(), model.Reply(model.Say("done")))})
		client := h.openai()
		q := sdk.ResponseNewParams{
			Model: "m", Store: openai.Bool(false), Include: []sdk.ResponseIncludable{"reasoning.encrypted_content"},
			Reasoning: shared.ReasoningParam{Effort: "low", Summary: "auto"},
		}
		items := sdk.ResponseInputParam{param.Override[sdk.ResponseInputItemUnionParam](json.RawMessage(hi))}
		for _, name := range []string{"a", "b"} {
			q.Tools = append(q.Tools, sdk.ToolParamOfFunction(name, map[string]any{"type": "object", "properties": map[string]any{}}, false))
		}
		ask := func() sdk.Response {
			q.Input = sdk.ResponseNewParamsInputUnion{OfInputItemList: items}
			if !streamed {
				r, err := client.Responses.New(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				return *r
			}
			stream := client.Responses.NewStreaming(t.Context(), q)
			defer func() { _ = stream.Close() }()
			text, thought := "", ""
			var r sdk.Response
			for stream.Next() {
				switch e := stream.Current().AsAny().(type) {
				case sdk.ResponseTextDeltaEvent:
					text += e.Delta
				case sdk.ResponseReasoningSummaryTextDeltaEvent:
					thought += e.Delta
				case sdk.ResponseCompletedEvent:
					r = e.Response
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			if text != r.OutputText() || len(r.Output) > 1 && thought != rich().Blocks[0].Text {
				t.Errorf("deltas %q, %q", thought, text)
			}
			return r
		}
		r := ask()
		if r.Status != "completed" || len(r.Output) != 5 || r.OutputText() != rich().Blocks[2].Text || r.ServiceTier != "default" || !strings.HasPrefix(r.ID, "resp_") {
			t.Fatalf("streamed %v: %s", streamed, r.RawJSON())
		}
		e := h.last()
		if r.Usage.OutputTokens != e.Usage.Output || r.Usage.InputTokens != e.Usage.Input || r.Usage.OutputTokensDetails.ReasoningTokens != e.Usage.Reasoning || e.Usage.Reasoning == 0 || e.Protocol != model.OpenAIResponses {
			t.Errorf("usage %s, bill %+v", r.Usage.RawJSON(), e)
		}
		for _, item := range r.Output {
			items = append(items, param.Override[sdk.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
		}
		for i := range 2 {
			call := r.Output[3+i].AsFunctionCall()
			if want := rich().Blocks[3+i]; call.Name != want.Name || call.Arguments != want.Input {
				t.Errorf("call %+v", call)
			}
			items = append(items, param.Override[sdk.ResponseInputItemUnionParam](map[string]any{"type": "function_call_output", "call_id": call.CallID, "output": "seen"}))
		}
		if r = ask(); r.OutputText() != "done" {
			t.Fatalf("after the tools: %s", r.RawJSON())
		}
	}
}

func TestOpenAIsOwnClientNoticesBrokenResponses(t *testing.T) {
	t.Parallel()
	for _, kind := range []model.FaultKind{model.FaultCut, model.FaultClose, model.FaultEnd, model.FaultErrorEvent, model.FaultGarbage} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			h := start(t, model.Options{})
			h.plan(model.Fault{Kind: kind, After: 5})
			client := h.openai()
			stream := client.Responses.NewStreaming(t.Context(), sdk.ResponseNewParams{Model: "m", Input: sdk.ResponseNewParamsInputUnion{OfString: openai.String("one two three")}})
			defer func() { _ = stream.Close() }()
			ended := false
			for stream.Next() {
				ended = ended || stream.Current().Type == "response.completed"
			}
			if ended || stream.Err() == nil && kind != model.FaultEnd && kind != model.FaultErrorEvent {
				t.Errorf("taken for an answer: %v", stream.Err())
			}
		})
	}
}
