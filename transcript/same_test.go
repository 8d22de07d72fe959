package transcript_test

import (
	"encoding/json"
	"testing"

	"parley/transcript"
)

func TestWhatAModelWouldReadIsNotTheSame(t *testing.T) {
	t.Parallel()
	message := func(p ...transcript.Part) transcript.Message {
		return transcript.Message{ID: "m", Role: transcript.Assistant, Parts: p}
	}
	native := func(provider, model string, blocks ...string) transcript.Message {
		m := message(transcript.Text{Text: "a"})
		m.Native = &transcript.Native{Provider: provider, Model: model}
		for _, b := range blocks {
			m.Native.Blocks = append(m.Native.Blocks, json.RawMessage(b))
		}
		return m
	}
	user := message(transcript.Text{Text: "a"})
	user.Role = transcript.User
	all := []func() transcript.Message{
		func() transcript.Message { return message() },
		func() transcript.Message { return message(transcript.Text{Text: "a"}) },
		func() transcript.Message { return user },
		func() transcript.Message { return message(transcript.Text{Text: "b"}) },
		func() transcript.Message { return message(transcript.Text{Text: "a"}, transcript.Text{Text: "b"}) },
		func() transcript.Message { return message(transcript.Reasoning{Thinking: "a"}) },
		func() transcript.Message { return message(transcript.ToolCall{ID: "a"}) },
		func() transcript.Message { return message(transcript.ToolCall{ID: "a", Input: "{}"}) },
		func() transcript.Message { return message(transcript.ToolResult{ToolCallID: "a"}) },
		func() transcript.Message { return message(transcript.ToolResult{ToolCallID: "a", View: 1}) },
		func() transcript.Message { return message(transcript.Finish{Reason: transcript.EndTurn}) },
		func() transcript.Message { return message(transcript.ImageURL{URL: "a"}) },
		func() transcript.Message { return message(transcript.Overlay{Kind: transcript.Undone}) },
		func() transcript.Message { return message(transcript.Binary{Path: "a"}) },
		func() transcript.Message { return message(transcript.Binary{Path: "b"}) },
		func() transcript.Message { return message(transcript.Binary{Path: "a", MIMEType: "b"}) },
		func() transcript.Message { return message(transcript.Binary{Path: "a", Sum: "b"}) },
		func() transcript.Message { return message(transcript.Binary{Path: "a", Data: []byte("b")}) },
		func() transcript.Message { return message(transcript.Binary{Path: "a", Sound: &transcript.Sound{}}) },
		func() transcript.Message {
			return message(transcript.Binary{Path: "a", Sound: &transcript.Sound{Name: "b"}})
		},
		func() transcript.Message { return message(transcript.Unknown{Type: "a"}) },
		func() transcript.Message { return message(transcript.Unknown{Type: "a", Data: json.RawMessage("1")}) },
		func() transcript.Message { return native("p", "m", "1", "2") },
		func() transcript.Message { return native("p", "m", "1", "3") },
		func() transcript.Message { return native("p", "m", "1") },
		func() transcript.Message { return native("p", "n", "1") },
		func() transcript.Message { return native("q", "m", "1") },
	}
	for i, a := range all {
		for j, b := range all {
			if got := transcript.Same(a(), b()); got != (i == j) {
				t.Errorf("Same is %v of\n%+v\n%+v", got, a(), b())
			}
		}
	}
}
