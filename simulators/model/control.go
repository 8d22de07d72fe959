package model

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// Recorded is a request as it came. The header holds no keys.
type Recorded struct {
	ID       string      `json:"id"`
	At       time.Time   `json:"at"`
	Protocol Protocol    `json:"protocol"`
	Header   http.Header `json:"header"`
	Body     []byte      `json:"body"` // base64 in JSON: it may be anything
}

// tape keeps the last requests, bounded in number and in bytes.
type tape struct {
	most      int
	mostBytes int64

	mu    sync.Mutex
	bytes int64      // guarded by mu
	list  []Recorded // guarded by mu
}

func (t *tape) add(r Recorded) {
	if t.most <= 0 || int64(len(r.Body)) > t.mostBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list, t.bytes = append(t.list, r), t.bytes+int64(len(r.Body))
	drop := 0
	for len(t.list)-drop > t.most || t.bytes > t.mostBytes {
		t.bytes -= int64(len(t.list[drop].Body))
		t.list[drop] = Recorded{}
		drop++
	}
	t.list = t.list[drop:]
}

func (t *tape) snapshot() []Recorded {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Recorded{}, t.list...)
}

func (t *tape) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list, t.bytes = nil, 0
}

func withoutKeys(h http.Header) http.Header {
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
	mux.HandleFunc("GET /v1/models/{name...}", s.serveModel)

	mux.HandleFunc("GET /sim/bill", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, s.Bill()) })
	mux.HandleFunc("GET /sim/requests", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, s.Requests()) })
	mux.HandleFunc("GET /sim/faults", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, s.Faults()) })
	mux.HandleFunc("POST /sim/faults", s.serveFaults)
	mux.HandleFunc("DELETE /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		writeJSON(w, 200, s.Faults())
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
	if err != nil {
		writeJSON(w, 400, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, 200, s.Faults())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client has left
}

// protocolOf tells the two providers' listings of models apart.
func protocolOf(r *http.Request) Protocol {
	if r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "" {
		return Anthropic
	}
	return OpenAI
}

// born is when every model came into being.
const born = 1_767_225_600 // 2026-01-01

func modelJSON(p Protocol, name string) map[string]any {
	if p == Anthropic {
		return map[string]any{
			"type": "model", "id": name, "display_name": name,
			"created_at": time.Unix(born, 0).UTC().Format(time.RFC3339),
		}
	}
	return map[string]any{"id": name, "object": "model", "created": born, "owned_by": "system"}
}

func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	p := protocolOf(r)
	if refusal := s.authorise(p, r); refusal != nil {
		s.refuseListing(w, p, refusal)
		return
	}
	list := []map[string]any{}
	for _, m := range s.o.Models {
		list = append(list, modelJSON(p, m.Name))
	}
	if p == OpenAI {
		writeJSON(w, 200, map[string]any{"object": "list", "data": list})
		return
	}
	var first, last *string
	if n := len(s.o.Models); n > 0 {
		first, last = &s.o.Models[0].Name, &s.o.Models[n-1].Name
	}
	writeJSON(w, 200, map[string]any{"data": list, "has_more": false, "first_id": first, "last_id": last})
}

func (s *Server) serveModel(w http.ResponseWriter, r *http.Request) {
	p, name := protocolOf(r), r.PathValue("name")
	refusal := s.authorise(p, r)
	if _, ok := s.model(name); refusal == nil && !ok {
		refusal = unknownModel(p, name)
	}
	if refusal != nil {
		s.refuseListing(w, p, refusal)
		return
	}
	writeJSON(w, 200, modelJSON(p, name))
}

func (s *Server) refuseListing(w http.ResponseWriter, p Protocol, refusal *Refusal) {
	id := s.names.request()
	w.Header().Set(requestIDHeader(p), id)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refusal.Status)
	w.Write(refusal.body(p, id)) //nolint:errcheck // the client has left
}
