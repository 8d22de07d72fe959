package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// writer puts JSON together without the escaping of <, > and &, so that raw
// parts stay as they are.
type writer struct {
	bytes.Buffer
	encoder *json.Encoder
	first   bool // nothing stands in the list that was begun last
}

// begin opens a list, next stands before each of its elements, end closes it.
func (w *writer) begin(bracket byte) {
	w.WriteByte(bracket)
	w.first = true
}

func (w *writer) next() {
	if !w.first {
		w.WriteByte(',')
	}
	w.first = false
}

func (w *writer) end(bracket byte) {
	w.WriteByte(bracket)
	w.first = false
}

// value writes v as JSON.
func (w *writer) value(v any) error {
	if w.encoder == nil {
		w.encoder = json.NewEncoder(&w.Buffer)
		w.encoder.SetEscapeHTML(false)
	}
	if err := w.encoder.Encode(v); err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	w.Truncate(w.Len() - 1) // the encoder ends a line
	return nil
}

// marshalUnescaped is v as writer.value writes it.
func marshalUnescaped(v any) (json.RawMessage, error) {
	var w writer
	if err := w.value(v); err != nil {
		return nil, err
	}
	return w.Bytes(), nil
}
