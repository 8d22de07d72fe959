package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/openai"
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
// answer of 500 pieces, in both protocols.
func BenchmarkExchange(b *testing.B) {
	pieces := slices.Repeat([]string{"some words "}, 500)
	options := func(answer []string) openai.Options {
		return openai.Options{Provider: "main", Model: "gpt-5.6-sol", APIKey: "k", HTTPClient: &http.Client{Transport: answering(strings.Join(answer, ""))}}
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
		for _, turns := range []int{1, 300} {
			r := llm.Request{
				System: []llm.SystemBlock{{Text: strings.Repeat("Be kind. ", 500), Cache: true}},
				Tools:  []llm.Definition{{Name: "look", Description: "Looks.", Schema: []byte(`{"type":"object"}`)}},
			}
			for i := range turns {
				r.Messages = append(r.Messages, said(transcript.User, words(fmt.Sprintf("what is <%d> & why", i))))
				if i < turns-1 {
					r.Messages = append(r.Messages, spoken(c.spoken...))
				}
			}
			b.Run(fmt.Sprintf("%s/turns=%d", c.name, turns), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, err := range c.m.Stream(b.Context(), r) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
