package anthropic

import (
	"encoding/json"
	"fmt"
	"testing"

	"parley/llm"
	"parley/transcript"
)

// BenchmarkEncode is a request with the history of so many turns, as the body
// that is sent.
func BenchmarkEncode(b *testing.B) {
	m, err := New(Options{Provider: "p", Model: "claude-haiku-4-5", APIKey: "k", BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		b.Fatal(err)
	}
	for _, turns := range []int{1, 300} {
		var r llm.Request
		for i := range turns {
			question, answer := fmt.Sprintf("what is <%d> & why", i), fmt.Sprintf("it is %d, because it is", i)
			raw := fmt.Appendf(nil, `{"type":"text","text":%q}`, answer)
			r.Messages = append(r.Messages,
				transcript.Message{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: question}}},
				transcript.Message{
					Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: answer}},
					Native: &transcript.Native{Provider: "p", Model: "claude-haiku-4-5", Blocks: []json.RawMessage{raw}},
				})
		}
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.encode(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
