package redaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// CleanJSON returns line, one JSON value, with clean applied to each text in it. What
// clean leaves alone stays as it is to the byte.
func CleanJSON(line []byte, clean func(string) string) ([]byte, error) {
	var out []byte // nil: as line, so far
	done := 0
	for i := 0; i < len(line); i++ {
		if line[i] != '"' {
			continue
		}
		end := i + 1
		for end < len(line) && line[end] != '"' {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(line) {
			return nil, fmt.Errorf("take secrets out of a line: it is no JSON") // a bug, not a kind
		}
		var text string
		if err := json.Unmarshal(line[i:end+1], &text); err != nil {
			return nil, fmt.Errorf("take secrets out of a line: %w", err)
		}
		whole, err := cleanNested(text, clean)
		if err != nil {
			return nil, err
		}
		if whole != text {
			quoted, err := EncodeJSON(whole)
			if err != nil {
				return nil, err
			}
			out = append(append(out, line[done:i]...), quoted...)
			done = end + 1
		}
		i = end
	}
	if out == nil {
		return line, nil
	}
	return append(out, line[done:]...), nil
}

// cleanNested is text without secrets, also where it is JSON in its turn, in which a
// secret may be spelt otherwise: the arguments of a call.
func cleanNested(text string, clean func(string) string) (string, error) {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		if inner := []byte(text); json.Valid(inner) {
			whole, err := CleanJSON(inner, clean)
			if err != nil {
				return "", err
			}
			text = string(whole)
		}
	}
	return clean(text), nil
}

// EncodeJSON returns v as JSON without the escapes that only HTML needs.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
