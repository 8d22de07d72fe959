package anthropic_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/llm/anthropic"
	"parley/llm/llmtest"
)

// BenchmarkExchange is a request with the history of some turns, and an answer of 500
// pieces.
func BenchmarkExchange(b *testing.B) {
	answer := llmtest.Always(strings.Join(text(slices.Repeat([]string{"some words "}, 500)...), ""))
	m, err := anthropic.New(anthropic.Options{Provider: "main", Model: model, APIKey: "k", HTTPClient: &http.Client{Transport: answer}})
	if err != nil {
		b.Fatal(err)
	}
	llmtest.BenchmarkExchange(b, m, spoken(signedThinking, `{"type":"text","text":"it is so"}`))
}
