package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley/llm"
	"parley/transcript"
)

func TestADigestOfAnEarlierVersionIsKnown(t *testing.T) {
	t.Parallel()
	ms := []transcript.Message{
		{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "hi"}}},
		{Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: "hello"}, transcript.Finish{Reason: "end_turn"}}},
	}
	const earlier = "894da7e2ac3733a6f8225e676d91046ac7ed83e0ca099f2aa18066def6c74810"
	for _, d := range []string{earlier, llm.Digest("f", ms)} {
		if !llm.IsDigest(d, "f", ms) || llm.IsDigest(d, "g", ms) || llm.IsDigest(d, "f", ms[:1]) {
			t.Errorf("of %s it is said: %v, %v, %v", d, llm.IsDigest(d, "f", ms), llm.IsDigest(d, "g", ms), llm.IsDigest(d, "f", ms[:1]))
		}
	}
}

// Requests that grow, lose their end, say something else in the middle, or come with other tools.
func TestDigestsAreThoseOfTheWholeRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := 0
		say := func() transcript.Message {
			said++
			return transcript.Message{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: fmt.Sprint(said, strings.Repeat(" much", 1000))}}}
		}
		ds := llm.NewDigests()
		histories := map[string][]transcript.Message{}
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			chat := rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "chat")
			ms := histories[chat]
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				ms = ms[:rapid.IntRange(0, len(ms)).Draw(t, "left")]
			case 1:
				if ms = slices.Clone(ms); len(ms) > 0 {
					ms[rapid.IntRange(0, len(ms)-1).Draw(t, "at")] = say()
				}
			}
			ms = slices.Clip(ms)
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				ms = append(ms, say())
			}
			histories[chat] = ms
			lasting := len(ms)
			for range rapid.IntRange(0, 2).Draw(t, "tail") {
				ms = append(ms, say())
			}
			frame := rapid.SampledFrom([]string{"f", "f", "f", "g"}).Draw(t, "frame")
			if got := ds.Digest(chat, frame, ms, lasting); got != llm.Digest(frame, ms) {
				t.Fatalf("%d messages, of which %d last: another digest", len(ms), lasting)
			}
		}
	})
	if nobody := (*llm.Digests)(nil); nobody.Digest("a", "f", nil, 0) != llm.Digest("f", nil) {
		t.Error("without one another digest is made")
	}
}
