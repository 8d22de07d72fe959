package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/llm"
	"parley/transcript"
)

// BenchmarkRecord is what names a request, for the record of it: its frame with twenty tools,
// and a history of so many turns.
func BenchmarkRecord(b *testing.B) {
	f := llm.RequestTemplate{Provider: "maker", Model: "model-1", System: []llm.SystemBlock{{Text: strings.Repeat("be kind. ", 300)}}}
	for i := range 20 {
		f.Tools = append(f.Tools, llm.Definition{
			Name: fmt.Sprint("tool-", i), Description: strings.Repeat("looks at things. ", 10), Schema: json.RawMessage(`{"type":"object"}`),
		})
	}
	for _, turns := range []int{1, 25, 300} {
		var ms []transcript.Message
		for range turns {
			ms = append(ms,
				transcript.Message{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("what is it ", 10)}}},
				transcript.Message{Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("it is this ", 20)}}})
		}
		b.Run(fmt.Sprintf("next/turns=%d", turns), func(b *testing.B) {
			b.ReportAllocs()
			ds, name := llm.NewDigests(), f.Name()
			ds.Digest("chat", name, ms, len(ms))
			for b.Loop() {
				ds.Digest("chat", name, ms, len(ms))
			}
		})
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				llm.Digest(f.Name(), ms)
			}
		})
	}
}
