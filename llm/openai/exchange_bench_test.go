package openai_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/llmtest"
	"parley/llm/openai"
)

// BenchmarkExchange is a request with the history of so many turns, and an
// answer of 500 pieces, in both protocols.
func BenchmarkExchange(b *testing.B) {
	pieces := slices.Repeat([]string{"some words "}, 500)
	options := func(answer []string) openai.Options {
		return openai.Options{Provider: "main", Model: "gpt-5.6-sol", APIKey: "k", HTTPClient: &http.Client{Transport: llmtest.Always(strings.Join(answer, ""))}}
	}
	chat, err := openai.New(options(text(pieces...)))
	if err != nil {
		b.Fatal(err)
	}
	responses, err := openai.NewResponses(options(respond(saying(0, pieces...))))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		m      llm.Model
		spoken []string
	}{
		{"chat", chat, []string{`{"content":"I <look>.","reasoning_content":"if a<b && “c”","role":"assistant"}`}},
		{"responses", responses, []string{reasonedItem, saidItem}},
	} {
		b.Run(c.name, func(b *testing.B) { llmtest.BenchmarkExchange(b, c.m, spoken(c.spoken...)) })
	}
}
