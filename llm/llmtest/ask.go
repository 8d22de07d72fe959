package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/llm"
	"parley/transcript"
)

// Ask sends r and returns the answer with what the adapter warned of, or its fault.
func Ask(t testing.TB, m llm.Model, r llm.Request) (resp *llm.Response, warnings []string, fault error) {
	t.Helper()
	for e, err := range m.Stream(context.WithoutCancel(t.Context()), r) {
		if err != nil {
			return nil, warnings, err
		}
		if e.Type == llm.Warning {
			warnings = append(warnings, e.Text)
		}
		resp = e.Response
	}
	return resp, warnings, nil
}

// Quote returns s as JSON.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b)
}

// Recorder is a server of a provider that keeps each request, whose body it reads as a
// Body. Its methods may be called concurrently.
type Recorder[Body any] struct {
	*httptest.Server

	mu       sync.Mutex // guards what follows
	requests []Recorded[Body]
}

// Recorded is one request.
type Recorded[Body any] struct {
	Path   string
	Header http.Header
	Body   Body
	Raw    string // the body
}

// Record starts a recorder, which answers the request of that number, from 0, with answer.
func Record[Body any](t testing.TB, answer func(n int, w http.ResponseWriter)) *Recorder[Body] {
	t.Helper()
	s := &Recorder[Body]{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		one := Recorded[Body]{Path: r.URL.Path, Header: r.Header, Raw: string(raw)}
		if err == nil {
			err = json.Unmarshal(raw, &one.Body)
		}
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, one)
		s.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(s.Close)
	return s
}

// Streams answers with the next of these streams of events, or the last one; header names
// where the id of the request stands.
func Streams(header string, answers ...[]string) func(n int, w http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set(header, "req_7")
		_, _ = io.WriteString(w, strings.Join(answers[min(n, len(answers)-1)], ""))
	}
}

// Requests returns all that came.
func (s *Recorder[Body]) Requests() []Recorded[Body] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Always is a transport without a network that always gives one stream of events.
type Always string

// RoundTrip implements [http.RoundTripper].
func (a Always) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}

// BenchmarkExchange measures requests with the history of one turn, and of 300, in each
// of which the model said answer.
func BenchmarkExchange(b *testing.B, m llm.Model, answer transcript.Message) {
	b.Helper()
	for _, turns := range []int{1, 300} {
		r := llm.Request{
			System: []llm.SystemBlock{{Text: strings.Repeat("Be kind. ", 500), Cache: true}},
			Tools:  []llm.Definition{{Name: "look", Description: "Looks.", Schema: []byte(`{"type":"object"}`)}},
		}
		for i := range turns {
			ask := transcript.Text{Text: fmt.Sprintf("what is <%d> & why", i)}
			r.Messages = append(r.Messages, transcript.Message{Role: transcript.User, Parts: []transcript.Part{ask}})
			if i < turns-1 {
				r.Messages = append(r.Messages, answer)
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
