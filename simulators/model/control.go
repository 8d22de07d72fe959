package model

import (
	"io"
	"net/http"
	"sync"
	"time"

	"parley/simulators/internal/stage"
)

// Recorded is a request as it came. The header holds no keys.
type Recorded struct {
	ID       string      `json:"id"`
	At       time.Time   `json:"at"`
	Protocol Protocol    `json:"protocol"`
	Header   http.Header `json:"header"`
	Body     []byte      `json:"body"` // base64 in JSON: it may be anything
}

// requestLog keeps the last requests, bounded in number and in bytes.
type requestLog struct {
	limit    int
	maxBytes int64

	mu    sync.Mutex
	bytes int64      // guarded by mu
	list  []Recorded // guarded by mu
}

func (t *requestLog) add(r Recorded) {
	if t.limit <= 0 || int64(len(r.Body)) > t.maxBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list, t.bytes = append(t.list, r), t.bytes+int64(len(r.Body))
	drop := 0
	for len(t.list)-drop > t.limit || t.bytes > t.maxBytes {
		t.bytes -= int64(len(t.list[drop].Body))
		t.list[drop] = Recorded{}
		drop++
	}
	t.list = t.list[drop:]
}

func (t *requestLog) snapshot() []Recorded {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Recorded{}, t.list...)
}

func (t *requestLog) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list, t.bytes = nil, 0
}

func withoutSecrets(h http.Header) http.Header {
	h = h.Clone()
	for _, key := range []string{"Authorization", "X-Api-Key", "Cookie", "Proxy-Authorization"} {
		h.Del(key)
	}
	return h
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/messages", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, Anthropic) })
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, OpenAI) })
	mux.HandleFunc("/v1/responses", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, OpenAIResponses) })
	mux.HandleFunc("/v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, OpenAITranscriptions) })
	mux.HandleFunc("GET /v1/models", s.serveModels)
	mux.HandleFunc("GET /v1/models/{id}", s.serveModels)

	mux.HandleFunc("GET /sim/bill", func(w http.ResponseWriter, _ *http.Request) { stage.Answer(w, s.Bill(), nil) })
	mux.HandleFunc("POST /sim/faults", s.serveFaults)
	mux.HandleFunc("DELETE /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		stage.Answer(w, s.Faults(), nil)
	})
	mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var faults []Fault
	if err == nil {
		faults, err = decodeFaults(body)
	}
	if err == nil {
		err = s.Plan(faults...)
	}
	stage.Answer(w, s.Faults(), err)
}
