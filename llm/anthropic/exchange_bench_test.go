package anthropic_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/anthropic"
	"parley/transcript"
)

// answering is a transport without a network that always gives one answer.
type answering string

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}

// BenchmarkExchange is a request with the history of so many turns, and an
// answer of 500 pieces.
func BenchmarkExchange(b *testing.B) {
	answer := answering(strings.Join(text(slices.Repeat([]string{"some words "}, 500)...), ""))
	m, err := anthropic.New(anthropic.Options{Provider: "main", Model: model, APIKey: "k", HTTPClient: &http.Client{Transport: answer}})
	if err != nil {
		b.Fatal(err)
	}
	for _, turns := range []int{1, 300} {
		r := llm.Request{
			System: []llm.SystemBlock{{Text: strings.Repeat("Be kind. ", 500), Cache: true}},
			Tools:  []llm.Definition{{Name: "look", Description: "Looks.", Schema: []byte(`{"type":"object"}`)}},
		}
		for i := range turns {
			r.Messages = append(r.Messages, said(transcript.User, words(fmt.Sprintf("what is <%d> & why", i))))
			if i < turns-1 {
				r.Messages = append(r.Messages, spoken(signedThinking, fmt.Sprintf(`{"type":"text","text":"it is %d"}`, i)))
			}
		}
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), r) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
