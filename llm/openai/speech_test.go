package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/llm"
	"parley/llm/openai"
	"parley/runtest"
	"parley/simulators/model"
)

func speechOf(t *testing.T, name, base string) *openai.Speech {
	t.Helper()
	m, err := openai.NewSpeech(openai.Options{Provider: "sim", Model: name, APIKey: "sk-canary-0123456789", BaseURL: base, TotalTimeout: time.Minute}, "de")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The words of a voice note come back with what they cost. (firstday A1)
func TestSpeechIsTranscribed(t *testing.T) {
	t.Parallel()
	s := model.New(model.Options{})
	runtest.Serve(t, s)
	note := model.Voice("wie wird das Wetter?", 8470*time.Millisecond)
	for name, want := range map[string]costs.Usage{
		"whisper-1":         {Source: costs.Reported, ServerTools: map[string]int64{costs.AudioSecond: 9}},
		"gpt-4o-transcribe": {Source: costs.Reported, ServerTools: map[string]int64{costs.AudioToken: 90}, Output: 5},
	} {
		got, err := speechOf(t, name, s.URL()+"/v1").Transcribe(t.Context(), llm.Speech{Name: "a.ogg", Data: note})
		if err != nil || got.Text != "wie wird das Wetter?" || got.RequestID == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if d := cmp.Diff(want, got.Usage); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	_, err := speechOf(t, "whisper-1", s.URL()+"/v1").Transcribe(t.Context(), llm.Speech{Name: "a.aac", Data: note})
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.InvalidRequest || e.Status != 400 || e.Retryable() || !strings.Contains(e.Message, "Invalid file format") {
		t.Errorf("of another format: %v", err)
	}
}

// What endpoints that are like OpenAI's answer.
func TestAnswersToSpeech(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		words string
		usage costs.Usage
		kind  llm.Kind
	}{
		`{"text":" hi "}`:                   {"hi", costs.Usage{Source: costs.Estimated}, ""},
		`{"text":"","duration":1.2}`:        {"", costs.Usage{Source: costs.Reported, ServerTools: map[string]int64{costs.AudioSecond: 2}}, ""},
		`{"text":"hi","x_groq":{"id":"1"}}`: {"hi", costs.Usage{Source: costs.Estimated}, ""},
		`{"text":"hi","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":10,"audio_tokens":4},"output_tokens":101,"total_tokens":115}}`: {
			"hi", costs.Usage{Source: costs.Reported, Input: 10, Output: 101, ServerTools: map[string]int64{costs.AudioToken: 4}}, "",
		},
		`{"text":"hi","usage":{"type":"tokens","input_tokens":14,"output_tokens":1}}`: {
			"hi", costs.Usage{Source: costs.Reported, Output: 1, ServerTools: map[string]int64{costs.AudioToken: 14}}, "",
		},
		`{"text":"hi","usage":{"type":"duration","seconds":-1}}`: {"", costs.Usage{}, llm.Malformed},
		`{"words":"hi"}`: {"", costs.Usage{}, llm.Malformed},
		`hi`:             {"", costs.Usage{}, llm.Malformed},
		``:               {"", costs.Usage{}, llm.Malformed},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}))
		got, err := speechOf(t, "whisper-1", s.URL).Transcribe(t.Context(), llm.Speech{Name: "a.ogg", Data: []byte("x")})
		s.Close()
		if e, ok := errors.AsType[*llm.Error](err); want.kind != "" {
			if !ok || e.Kind != want.kind || !e.Sent || e.Provider != "sim" || e.Model != "whisper-1" {
				t.Errorf("%s: %+v", body, err)
			}
			continue
		}
		if err != nil || got.Text != want.words {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
		if d := cmp.Diff(want.usage, got.Usage); d != "" {
			t.Errorf("%s (-want +got):\n%s", body, d)
		}
	}
}

// A request that had left may be on the bill, whatever became of its answer; one that
// never left is not.
func TestARequestForSpeechThatBrokeMayBeBilled(t *testing.T) {
	t.Parallel()
	hangUp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.Close()
	}))
	t.Cleanup(hangUp.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for base, sent := range map[string]bool{hangUp.URL: true, gone.URL: false} {
		_, err := speechOf(t, "whisper-1", base).Transcribe(t.Context(), llm.Speech{Name: "a.ogg", Data: []byte("x")})
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != llm.Network || e.Sent != sent || !e.Retryable() {
			t.Errorf("sent %v: %+v", sent, err)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error holds the key: %v", err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := speechOf(t, "whisper-1", hangUp.URL).Transcribe(ctx, llm.Speech{Name: "a.ogg", Data: []byte("x")})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Canceled || e.Sent {
		t.Errorf("canceled: %+v", err)
	}
}
