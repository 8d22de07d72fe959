package stage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
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
	c.HandleFunc("GET /sim/books", func(w http.ResponseWriter, _ *http.Request) { Answer(w, s.Books(), nil) })
	c.HandleFunc("GET /sim/totals", func(w http.ResponseWriter, _ *http.Request) { Answer(w, s.Totals(), nil) })
	c.HandleFunc("DELETE /sim/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		Answer(w, true, nil)
	})
	c.HandleFunc("POST /sim/faults", func(w http.ResponseWriter, r *http.Request) {
		var fs []Fault
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		err := d.Decode(&fs)
		if err == nil {
			err = s.Plan(fs...)
		}
		Answer(w, true, err)
	})
	c.Do("reset", s.Reset)
	return c
}

// Do has POST /sim/name answered with what do, a function, returns beside an error,
// or true. Its arguments are the fields with these names of the object in the body; one
// without a name is a struct whose fields stand beside those. Fields that nothing takes
// are refused. A do without arguments needs no body. Do panics when names and arguments
// are not equally many.
func (c *Control) Do(name string, do any, names ...string) {
	f := reflect.ValueOf(do)
	if f.Type().NumIn() != len(names) {
		panic(fmt.Sprintf("/sim/%s: %d names for the arguments of %s", name, len(names), f.Type()))
	}
	c.HandleFunc("POST /sim/"+name, func(w http.ResponseWriter, r *http.Request) {
		in, err := c.arguments(w, r, f.Type(), names)
		if err != nil {
			Answer(w, nil, err)
			return
		}
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		var out any = true
		results := call(in)
		for i := len(results) - 1; i >= 0; i-- {
			switch v := results[i].Interface().(type) {
			case error:
				err = v
			case nil:
			default:
				out = v
			}
		}
		Answer(w, out, err)
	})
}

// arguments reads those of a function of type f.
func (c *Control) arguments(w http.ResponseWriter, r *http.Request, f reflect.Type, names []string) ([]reflect.Value, error) {
	fields := map[string]json.RawMessage{}
	if len(names) > 0 {
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, c.maxRequest)).Decode(&fields); err != nil {
			return nil, err
		}
	}
	in, beside := make([]reflect.Value, len(names)), reflect.New(reflect.TypeFor[struct{}]())
	for i, name := range names {
		v := reflect.New(f.In(i))
		in[i] = v.Elem()
		if name == "" {
			beside = v
		} else if raw, ok := fields[name]; ok {
			if err := strictly(raw, v); err != nil {
				return nil, err
			}
			delete(fields, name)
		}
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return in, strictly(rest, beside)
}

// strictly decodes what must have no field that into, a pointer, has not.
func strictly(raw []byte, into reflect.Value) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into.Interface())
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
