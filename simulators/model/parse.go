package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// parse reads and judges the body of p. A rule that refuses it panics with a *Refusal,
// as [stage.Refused] has it; p then holds no more than model and stream.
func (s *Server) parse(p *Prompt) {
	switch p.Protocol {
	case Anthropic:
		s.parseAnthropic(p)
	case OpenAIResponses:
		s.parseResponses(p)
	default:
		s.parseOpenAI(p)
	}
}

// decode reads one JSON value whose keys all must be known: fields of into, or the
// keys without effect. unknown is the first key that is not.
func decode(body []byte, into any, without ...string) (unknown string, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		// The standard library has no type for this error.
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			if name = strings.Trim(name, `"`); slices.Contains(without, name) {
				return decode(withoutKeys(body, without), into)
			}
			return name, nil
		}
		return "", err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("trailing characters")
	}
	return "", nil
}

// withoutKeys is the object body without these keys.
func withoutKeys(body []byte, keys []string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	for _, k := range keys {
		delete(fields, k)
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return rest
}

// wrongType tells a value of the wrong type from broken JSON.
func wrongType(err error) (field, kind string, ok bool) {
	t, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return "", "", false
	}
	kind = t.Type.String()
	switch {
	case strings.HasPrefix(kind, "[]"):
		kind = "array"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "*int"):
		kind = "integer"
	case strings.Contains(kind, "bool"):
		kind = "boolean"
	case !strings.Contains(kind, "string"):
		kind = "object"
	}
	return t.Field, kind, true
}

// hasValue reports whether a value is there and not null.
func hasValue(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }
func isArray(raw json.RawMessage) bool  { return len(raw) > 0 && raw[0] == '[' }
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func (p *Prompt) segment(kind string, text []byte, cache ttl) {
	p.segments = append(p.segments, segment{kind: kind, text: text, cache: cache})
}

// paragraph adds text to a message.
func (m *Message) paragraph(text string) {
	if m.Text != "" {
		m.Text += "\n"
	}
	m.Text += text
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// isToolName reports whether a provider takes name.
func isToolName(name string, limit int) bool {
	return name != "" && len(name) <= limit && strings.Trim(name, base62+"_-") == ""
}

// isObjectSchema reports whether raw is a JSON Schema with type object.
func isObjectSchema(raw json.RawMessage) bool {
	var schema struct {
		Type string `json:"type"`
	}
	return isObject(raw) && json.Unmarshal(raw, &schema) == nil && schema.Type == "object"
}

func joinIDs(ids []string) string { return strings.Join(ids, ", ") }

func pathf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
