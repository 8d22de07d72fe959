package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"parley/llm"
	"parley/transcript"
)

// conversationOf is a request with the history of so many turns, each answered by the model
// after it thought.
func conversationOf(turns int) llm.Request {
	r := llm.Request{CacheKey: "conversation", Tools: []llm.Definition{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}}
	for i := range turns {
		question, answer := fmt.Sprintf("what is <%d> & why", i), fmt.Sprintf("it is %d, because it is", i)
		r.Messages = append(r.Messages,
			transcript.Message{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: question}}},
			transcript.Message{
				Role: transcript.Assistant, Parts: []transcript.Part{transcript.Text{Text: answer}},
				Native: &transcript.Native{Provider: "p", Model: "claude-haiku-4-5", Blocks: []json.RawMessage{
					json.RawMessage(`{"type":"thinking","thinking":"so","signature":"c2ln"}`), fmt.Appendf(nil, `{"type":"text","text":%q}`, answer),
				}},
			})
	}
	r.Messages = append(r.Messages, transcript.Message{Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "and now?"}}})
	return r
}

func newModel(tb testing.TB, info llm.Info) *Model {
	tb.Helper()
	m, err := New(Options{Provider: "p", Model: "claude-haiku-4-5", APIKey: "k", BaseURL: "http://127.0.0.1:1", Info: info})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func encoded(tb testing.TB, m *Model, r llm.Request) []byte {
	tb.Helper()
	pieces, err := m.encode(r)
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Join(pieces, nil)
}

// A model whose thinking is bound to its place gets it back, but not while it is not to think.
func TestARequestWithoutThinkingDoesNotBeginAsOneWithIt(t *testing.T) {
	t.Parallel()
	info := llm.Lookup("claude-haiku-4-5")
	info.Thinking.Bound = true
	m := newModel(t, info)
	for i, p := range []llm.Parameters{{}, {Thinking: llm.NoThinking}, {}, {Thinking: llm.NoThinking}} {
		r := conversationOf(4)
		r.Parameters = p
		got := encoded(t, m, r)
		if want := encoded(t, newModel(t, info), r); !bytes.Equal(got, want) {
			t.Errorf("request %d is\n%s\nwritten anew\n%s", i, got, want)
		}
		if bytes.Contains(got, []byte(`"signature"`)) != (p.Thinking == "") {
			t.Errorf("request %d with %+v: %s", i, p, got)
		}
	}
}

// What a request costs does not grow with its conversation.
func TestWritingARequestTakesNoMorePerTurnOfItsConversation(t *testing.T) { // it counts allocations
	allocations := func(turns int) float64 {
		m, r := newModel(t, llm.Info{}), conversationOf(turns)
		encoded(t, m, r)
		return testing.AllocsPerRun(20, func() { _, _ = m.encode(r) })
	}
	// The race detector and the collector empty pools now and then, which is an allocation
	// or a few in each request; one for each turn would be hundreds more.
	const short, long = 10, 300
	if few, many := allocations(short), allocations(long); many-few > (long-short)/10 {
		t.Errorf("%v allocations for %d turns, %v for %d", many, long, few, short)
	}
}

// BenchmarkEncode is a request with the history of so many turns, as the body that is sent: of a
// conversation that the model has seen, and of one that it has not.
func BenchmarkEncode(b *testing.B) {
	m := newModel(b, llm.Info{})
	for _, turns := range []int{1, 25, 300} {
		for name, key := range map[string]string{"known": "conversation", "new": ""} {
			r := conversationOf(turns)
			r.CacheKey = key
			b.Run(fmt.Sprintf("turns=%d/%s", turns, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.encode(r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
