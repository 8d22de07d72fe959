package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/runtest"
	"parley/simulators/model"
)

// BenchmarkEcho is whole requests over loopback, client included.
func BenchmarkEcho(b *testing.B) {
	for name, c := range map[string]struct {
		path   string
		stream bool
	}{
		"anthropic/stream": {messages, true}, "anthropic/whole": {messages, false},
		"openai/stream": {completions, true}, "openai/whole": {completions, false},
	} {
		b.Run(name, func(b *testing.B) {
			s := model.New(model.Options{})
			runtest.Serve(b, s)
			transport := &http.Transport{MaxIdleConnsPerHost: 64}
			client := &http.Client{Transport: transport}
			body := ask(c.path, "a question of a dozen words that asks for nothing in particular", c.stream)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL()+c.path, strings.NewReader(body))
					r.Header.Set("anthropic-version", "2023-06-01")
					res, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, res.Body); err != nil {
						b.Error(err)
					}
					_ = res.Body.Close()
				}
			})
			b.StopTimer()
			transport.CloseIdleConnections()
			if n := s.Bill().Outcomes[model.Complete]; n == 0 || len(s.Bill().Outcomes) != 1 {
				b.Errorf("%+v", s.Bill().Outcomes)
			}
		})
	}
}

// BenchmarkHandler is the server's own part alone.
func BenchmarkHandler(b *testing.B) {
	h := model.New(model.Options{}).Handler()
	body := ask(messages, "a question of a dozen words that asks for nothing in particular", true)
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, messages, strings.NewReader(body))
		r.Header.Set("anthropic-version", "2023-06-01")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}
