package transcript_test

import (
	"testing"

	"parley/transcript"
)

// BenchmarkUnmarshalParts reads the parts of an answer as a store has them.
func BenchmarkUnmarshalParts(b *testing.B) {
	stored := []byte(`[{"type":"text","data":{"text":"you said: hello for the time 1234"}},{"type":"finish","data":{"reason":"end_turn","time":1700000000,"size":{"model":"main/m","input":12345,"output":12,"guess":12000}}}]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transcript.UnmarshalParts(stored); err != nil {
			b.Fatal(err)
		}
	}
}
