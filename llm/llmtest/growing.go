package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"

	"parley/llm"
	"parley/transcript"
)

// testGrowingConversations asks as conversations do that go on: an adapter may keep what it wrote
// of earlier requests, and each body must be, byte for byte, what a model writes that has seen
// none of them. A history mostly grows at its end; at times it is cut, repaired, summarised or
// trimmed, which changes it anywhere.
func testGrowingConversations(t *testing.T, a Adapter) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			var kept, fresh bodies
			open := func(b *bodies) llm.Model {
				return a.Open(t, Endpoint{URL: "http://127.0.0.1:1", Key: "k", Client: &http.Client{Transport: b}})
			}
			m := open(&kept)
			c := &conversation{rand: rand.New(rand.NewPCG(seed, 1)), provider: m.Provider(), model: m.Name(), native: a.Wire.Native} // a test's
			for range 40 {
				c.step()
				r := c.request()
				exhaust(t, m, r)
				exhaust(t, open(&fresh), r)
			}
			kept.mu.Lock()
			defer kept.mu.Unlock()
			for i, sent := range kept.sent {
				if want := fresh.sent[i]; !bytes.Equal(sent, want) {
					t.Fatalf("request %d is\n%s\nwritten anew\n%s", i, sent, want)
				}
			}
			for i, r := range kept.readers { // nobody changed what was on its way
				again, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(again, fresh.sent[i]) {
					t.Fatalf("request %d, read late, is %v\n%s\nwritten anew\n%s", i, err, again, fresh.sent[i])
				}
			}
		})
	}
}

// exhaust makes a request whose answer is a refusal.
func exhaust(t *testing.T, m llm.Model, r llm.Request) {
	t.Helper()
	for _, err := range m.Stream(t.Context(), r) {
		if err == nil {
			t.Error("a refused request was answered")
		}
	}
}

// bodies is a provider that refuses every request, and keeps their bodies: as they are read at
// once, and to be read later, as a connection may.
type bodies struct {
	mu      sync.Mutex
	sent    [][]byte
	readers []io.Reader
}

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	late, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	if int64(len(sent)) != r.ContentLength || !json.Valid(sent) {
		return nil, fmt.Errorf("a body of %d bytes, announced as %d: %s", len(sent), r.ContentLength, sent) // for the test's log
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent, b.readers = append(b.sent, sent), append(b.readers, late)
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// conversation is a history that changes at random.
type conversation struct {
	rand            *rand.Rand
	provider, model string
	native          func(words string) []json.RawMessage
	history         []transcript.Message
	said            int
}

func (c *conversation) words() string {
	c.said++
	return fmt.Sprintf("%d <said> & “done”", c.said)
}

// step changes the history: six times out of seven at its end.
func (c *conversation) step() {
	n := len(c.history)
	if n == 0 || c.rand.IntN(7) > 0 {
		for range 1 + c.rand.IntN(3) {
			c.history = append(c.history, c.message())
		}
		return
	}
	at := c.rand.IntN(n)
	switch c.rand.IntN(4) {
	case 0: // taken back
		c.history = c.history[:at]
	case 1: // trimmed, or put right
		c.history = slices.Clone(c.history)
		c.history[at] = c.message()
	case 2: // summarised
		c.history = append([]transcript.Message{said(transcript.User, transcript.Text{Text: c.words()})}, c.history[at:]...)
	case 3: // another conversation under the same name
		c.history = nil
		c.history = append(c.history, c.message())
	}
}

func said(role transcript.Role, parts ...transcript.Part) transcript.Message {
	return transcript.Message{Role: role, Parts: parts}
}

// message returns something that is said; what belongs to nothing before it among it.
func (c *conversation) message() transcript.Message {
	switch c.rand.IntN(8) {
	case 0: // nothing
		return said(transcript.User, transcript.Text{})
	case 1:
		return said(transcript.User, transcript.Text{Text: c.words()}, transcript.Binary{Path: "a.png", MIMEType: "image/png", Data: []byte{byte(c.said)}})
	case 2:
		return said(transcript.Tool, transcript.ToolResult{ToolCallID: fmt.Sprint("c.", c.said), Content: c.words(), IsError: c.rand.IntN(2) == 0})
	case 3:
		return said(transcript.Assistant, transcript.Text{Text: c.words()}, transcript.ToolCall{ID: fmt.Sprint("c.", c.said), Name: "look", Input: `{ "at": 1 }`, Finished: true})
	case 4, 5:
		m := said(transcript.Assistant, transcript.Text{Text: c.words()})
		m.Native = &transcript.Native{Provider: c.provider, Model: c.model, Blocks: c.native(c.words())}
		return m
	default:
		return said(transcript.User, transcript.Text{Text: c.words()})
	}
}

// request asks about the history, mostly as before.
func (c *conversation) request() llm.Request {
	r := llm.Request{
		CacheKey: "conversation", Messages: slices.Clone(c.history),
		System: []llm.SystemBlock{{Text: "Be kind.", Cache: true}},
		Tools:  []llm.Definition{{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{ "type": "object" }`)}},
	}
	switch c.rand.IntN(8) {
	case 0:
		r.Tools = nil
	case 1:
		r.Tools[0].Description = c.words()
	case 2:
		r.Thinking = llm.NoThinking
	case 3: // the last words of a turn
		r.Messages = append(r.Messages, said(transcript.User, transcript.Text{Text: c.words()}))
		r.Choice = llm.None
	}
	return r
}
