package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley/llm"
	"parley/transcript"
)

func user(parts ...transcript.Part) transcript.Message {
	return transcript.Message{Role: transcript.User, Parts: parts}
}

// requirements M03
func TestEstimateIsCharactersAndSixteenForEachMessageOverFour(t *testing.T) { // TX04
	t.Parallel()
	text := func(s string) transcript.Part { return transcript.Text{Text: s} }
	for _, c := range []struct {
		name string
		r    llm.Request
		want int64
	}{
		{"nothing", llm.Request{}, 0},
		{"an empty message", llm.Request{Messages: []transcript.Message{user()}}, 4},
		{"exactly", llm.Request{Messages: []transcript.Message{user(text("12345678"))}}, 6},
		{"rounded up", llm.Request{Messages: []transcript.Message{user(text("123456789"))}}, 7},
		{"runes, not bytes", llm.Request{Messages: []transcript.Message{user(text("äöü€"))}}, 5},
		{"two messages, rounded once", llm.Request{Messages: []transcript.Message{user(text("1")), user(text("2"))}}, 9},
		{"system blocks are one message", llm.Request{System: []llm.SystemBlock{{Text: "1234"}, {Text: "5678"}}}, 6},
		{"calls and results", llm.Request{Messages: []transcript.Message{
			{Role: transcript.Assistant, Parts: []transcript.Part{transcript.ToolCall{ID: "not counted", Name: "look", Input: `{}`}}},
			{Role: transcript.Tool, Parts: []transcript.Part{transcript.ToolResult{Name: "not counted", Content: "ok"}}},
		}}, 10},
		{"tools", llm.Request{Tools: []llm.Definition{{Name: "a", Description: "bc", Schema: json.RawMessage(`{}`)}}}, 2},
		{"a picture", llm.Request{Messages: []transcript.Message{user(transcript.Binary{MIMEType: "image/png", Data: []byte("x")})}}, 1604},
	} {
		if got := llm.Estimate(c.r); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
	}
}

// A byte-level tokeniser cannot make more tokens than there are bytes, so the
// bytes of the request as JSON are the dearest any text can be.
func TestUpperIsNeverBelowTheBytesOfTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r llm.Request
		bytes := int64(0)
		for _, s := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "texts") {
			m := user(transcript.Text{Text: s})
			if rapid.Bool().Draw(t, "native") {
				m.Native = &transcript.Native{Blocks: []json.RawMessage{json.RawMessage(s)}}
			}
			if rapid.Bool().Draw(t, "call") {
				m.Parts = append(m.Parts, transcript.ToolCall{Name: s, Input: s})
				bytes += int64(2 * len(s))
			}
			r.Messages = append(r.Messages, m)
			bytes += int64(len(s))
		}
		for _, s := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "system") {
			r.System = append(r.System, llm.SystemBlock{Text: s})
			bytes += int64(len(s))
		}
		upper, estimate := llm.UpperBound(r), llm.Estimate(r)
		if upper < bytes || upper < estimate {
			t.Fatalf("upper %d, bytes %d, estimate %d", upper, bytes, estimate)
		}
	})
}

func TestUpperCountsPicturesBySizeAndNativeBlocksByBytes(t *testing.T) {
	t.Parallel()
	small := llm.UpperBound(llm.Request{Messages: []transcript.Message{user()}})
	picture := llm.UpperBound(llm.Request{Messages: []transcript.Message{user(transcript.ImageURL{URL: "u"})}})
	native := user()
	native.Native = &transcript.Native{Blocks: []json.RawMessage{json.RawMessage(strings.Repeat("x", 5000))}}
	if picture < small+50_000 {
		t.Errorf("a picture: %d", picture)
	}
	if got := llm.UpperBound(llm.Request{Messages: []transcript.Message{native}}); got < small+5000 {
		t.Errorf("native: %d", got)
	}
}
