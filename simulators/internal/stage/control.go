package stage

import (
	"encoding/json"
	"net/http"
)

// Simulator is what every control interface reaches.
type Simulator[Fault, Book, Totals any] interface {
	Books() Book
	Totals() Totals
	Plan(fs ...Fault) error
	ClearFaults()
	Reset()
}

// Control is the interface for a harness in another process. Every one has
//
//	GET  /sim/books   the Book
//	GET  /sim/totals  the Totals, cheap enough to poll
//	POST /sim/faults  an array of Fault; DELETE ends all of them
//	POST /sim/reset   a fresh world
//
// What cannot be done is answered 400 with {"error": …}.
type Control struct {
	http.ServeMux
	maxRequest int64
}

// NewControl returns the control of s. A request may have maxRequest bytes.
func NewControl[Fault, Book, Totals any](s Simulator[Fault, Book, Totals], maxRequest int64) *Control {
	c := &Control{maxRequest: maxRequest}
	c.handle("GET /sim/books", func() (any, error) { return s.Books(), nil })
	c.handle("GET /sim/totals", func() (any, error) { return s.Totals(), nil })
	c.handle("DELETE /sim/faults", func() (any, error) { s.ClearFaults(); return true, nil })
	c.Do("reset", func() (any, error) { s.Reset(); return true, nil })
	Take(c, "faults", func(fs []Fault) (any, error) { return true, s.Plan(fs...) })
	return c
}

// Do has POST /sim/name answered with what do returns.
func (c *Control) Do(name string, do func() (any, error)) { c.handle("POST /sim/"+name, do) }

func (c *Control) handle(pattern string, do func() (any, error)) {
	c.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		v, err := do()
		Answer(w, v, err)
	})
}

// Take has POST /sim/name, whose body is an In, answered with what do returns.
// Fields that In does not have are refused.
func Take[In any](c *Control, name string, do func(In) (any, error)) {
	c.HandleFunc("POST /sim/"+name, func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, c.maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			Answer(w, nil, err)
			return
		}
		v, err := do(in)
		Answer(w, v, err)
	})
}

// Answer writes v, or err with status 400.
func Answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		v = map[string]string{"error": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(v)
}
