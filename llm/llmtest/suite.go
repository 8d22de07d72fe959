package llmtest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"parley/costs"
	"parley/llm"
)

// Adapter is an adapter of a provider's protocol, as the suite sees it.
type Adapter struct {
	// Open makes the model. It fails t when it cannot.
	Open func(t testing.TB, e Endpoint) llm.Model
	Wire Wire
}

// Endpoint is where a model under test sends its requests, and how.
type Endpoint struct {
	URL    string
	Key    string
	Client *http.Client

	FirstByte, Idle, Total time.Duration // 0: the adapter's defaults
}

// Wire writes answers in the provider's protocol. A stream is its server-sent
// events, each with its final blank line; leaving any off the end makes it
// incomplete unless Wire says otherwise.
type Wire struct {
	// Text returns a whole answer of these pieces of text that reports Usage.
	Text  func(pieces ...string) []string
	Usage costs.Usage
	// Thinking returns a whole answer that thinks before it says text.
	Thinking func(thought, text string) []string
	// Tool returns a whole answer that calls one tool, its arguments in pieces.
	Tool func(id, name string, pieces ...string) []string
	// Native returns the blocks of an answer as the provider said them and takes them back; not as
	// encoding/json would write them.
	Native func(words string) []json.RawMessage
	// Silent returns a whole answer that does not say what it used.
	Silent func(text string) []string
	// Visible is how many events of Text("…", …) come before the first one
	// that a consumer sees, and Final the number of events without which the
	// answer still is complete.
	Visible, Final int
	// Hoards are events of which an answer may bring one after another, with i from
	// 0, behind the first Visible events of a Text, and each of which the adapter
	// keeps something.
	Hoards map[string]func(i int) string
	// Error returns an error event inside a stream, and Refusal the body of a
	// response with an error status, both for an error of this kind.
	Error   func(kind llm.Kind, message string) string
	Refusal func(kind llm.Kind, message string) string
}

// Run checks that an adapter keeps the promises of [llm.Model], also with a
// provider that misbehaves. (F11, TX01, TX04)
func Run(t *testing.T, a Adapter) {
	for _, group := range []struct {
		name string
		run  func(*testing.T, Adapter)
	}{
		{"a good answer", testGoodAnswers},
		{"a request", testRequests},
		{"a growing conversation", testGrowingConversations},
		{"a broken answer", testBrokenAnswers},
		{"a slow answer", testSlowAnswers},
		{"an end before the end", testInterruptions},
		{"a refusal", testRefusals},
		{"a secret", testSecrets},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			group.run(t, a)
		})
	}
}
