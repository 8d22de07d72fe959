package model

import (
	"encoding/json"
	"net/http"
	"slices"
)

// listed is a model as Anthropic's Models API has it, and as the list of Chat Completions does.
type listed struct {
	ID          string `json:"id"`
	Type        string `json:"type,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	CreatedAt   string `json:"created_at,omitempty"`
	Object      string `json:"object,omitempty"`
	Created     int64  `json:"created,omitempty"`
	OwnedBy     string `json:"owned_by,omitempty"`
}

// serveModels answers GET of all models, or of one. Nothing of it is booked.
func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	p := OpenAI
	if r.Header.Get("Anthropic-Version") != "" {
		p = Anthropic
	}
	request, status := s.names.request(), http.StatusOK
	one := func(id string) listed {
		if p == Anthropic {
			return listed{ID: id, Type: "model", DisplayName: id, CreatedAt: "2026-01-01T00:00:00Z"}
		}
		return listed{ID: id, Object: "model", Created: 1767225600, OwnedBy: "sim"}
	}
	id, refusal := r.PathValue("id"), s.authorise(p, r)
	if refusal == nil && id != "" && len(s.o.Models) > 0 && !slices.Contains(s.o.Models, id) {
		refusal = &Refusal{Status: http.StatusNotFound, Message: "model: " + id}
	}
	var body []byte
	switch {
	case refusal != nil:
		status, body = refusal.Status, refusal.body(p, request)
	case id != "":
		body, _ = json.Marshal(one(id)) // texts and numbers
	default:
		list := struct {
			Object string   `json:"object,omitempty"`
			Data   []listed `json:"data"`
		}{Data: []listed{}}
		if p != Anthropic {
			list.Object = "list"
		}
		names := s.o.Models
		if len(names) == 0 {
			names = []string{"demo"}
		}
		for _, id := range names {
			list.Data = append(list.Data, one(id))
		}
		body, _ = json.Marshal(list) // as above
	}
	w.Header().Set(requestIDHeader(p), request)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may have gone
}
