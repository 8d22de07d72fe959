package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema checks arguments against a JSON Schema of type object. It is safe for
// concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	depth    int // how deep arguments may be nested
}

// ParseSchema reads a JSON Schema, draft 2020-12 or 7. It must be of type
// object; references to other documents are refused, and so are those that would have arguments
// checked for ever.
func ParseSchema(text json.RawMessage) (*Schema, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("parse schema: its type must be object, not %q", s.Type)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	depth, err := depthOf(&s)
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return &Schema{&s, r, depth}, nil
}

// Check reports what is wrong with a, in a sentence for the model that names the
// field, or returns nil. A key that differs from a property in case only is
// refused also where the schema leaves other keys open.
func (s *Schema) Check(a Arguments) error {
	if err := explain("", s.root, a.object()); err != nil {
		return err
	}
	if nesting(a.object()) > s.depth {
		return fmt.Errorf("the arguments are nested deeper than %d levels, and deeper ones cannot be held to the tool's schema", s.depth)
	}
	if err := s.resolved.Validate(a.object()); err != nil {
		return fmt.Errorf("the arguments do not fit the tool's schema: %w", err)
	}
	return nil
}

// explain finds the ordinary mistakes and says them plainly. It is no
// validator: what it lets pass is validated afterwards.
func explain(path string, s *jsonschema.Schema, v any) error {
	if s == nil {
		return nil
	}
	if want := typesOf(s); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return isType(t, v) }) {
		return fmt.Errorf("%s must be %s, not %s", fieldName(path), alternatives(want), typeName(v))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		if t, ok := v.(string); ok {
			return fmt.Errorf("%s must be one of %s, not %q", fieldName(path), quoteList(s.Enum), prefix(t, 60))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return explainObject(path, s, v)
	case []any:
		for i, item := range v {
			if err := explain(fmt.Sprintf("%s[%d]", path, i), s.Items, item); err != nil {
				return err
			}
		}
	case string:
		return explainString(path, s, v)
	case int64:
		return explainNumber(path, s, float64(v))
	case float64:
		return explainNumber(path, s, v)
	}
	return nil
}

func explainObject(path string, s *jsonschema.Schema, m map[string]any) error {
	names := slices.Sorted(maps.Keys(s.Properties))
	closed := s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil && len(s.PatternProperties) == 0
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if _, ok := s.Properties[key]; ok {
			continue
		}
		for _, name := range names {
			if foldKey(name) == foldKey(key) {
				return fmt.Errorf("there is no parameter %s; it is spelled %q", fieldName(joinPath(path, key)), name)
			}
		}
		if !closed {
			continue
		}
		if near := Nearest(key, names); len(near) > 0 {
			return fmt.Errorf("there is no parameter %s; did you mean %q?", fieldName(joinPath(path, key)), near[0])
		}
		return fmt.Errorf("there is no parameter %s; the parameters are: %s", fieldName(joinPath(path, key)), strings.Join(names, ", "))
	}
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			return fmt.Errorf("%s is required", fieldName(joinPath(path, name)))
		}
	}
	for _, name := range names {
		if v, ok := m[name]; ok {
			if err := explain(joinPath(path, name), s.Properties[name], v); err != nil {
				return err
			}
		}
	}
	return nil
}

func explainString(path string, s *jsonschema.Schema, v string) error {
	n := len([]rune(v))
	switch {
	case s.MinLength != nil && n < *s.MinLength && *s.MinLength == 1:
		return fmt.Errorf("%s must not be empty", fieldName(path))
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Errorf("%s must have at least %d characters, not %d", fieldName(path), *s.MinLength, n)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Errorf("%s must have at most %d characters, not %d", fieldName(path), *s.MaxLength, n)
	case s.Pattern != "" && !matches(s.Pattern, v):
		return fmt.Errorf("%s does not match %s", fieldName(path), s.Pattern)
	}
	return nil
}

// matches reports whether a pattern of a schema fits a text; one that is none is for the
// validator to refuse.
func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(text)
}

func explainNumber(path string, s *jsonschema.Schema, v float64) error {
	switch {
	case s.Minimum != nil && v < *s.Minimum:
		return fmt.Errorf("%s must be at least %v, not %v", fieldName(path), *s.Minimum, v)
	case s.Maximum != nil && v > *s.Maximum:
		return fmt.Errorf("%s must be at most %v, not %v", fieldName(path), *s.Maximum, v)
	}
	return nil
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

func isType(t string, v any) bool {
	switch t {
	case "null":
		return v == nil
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "string":
		_, ok := v.(string)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "number":
		return strings.HasSuffix(typeName(v), "number")
	case "integer":
		return typeName(v) == "a whole number"
	default:
		return true
	}
}

func alternatives(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "array", "object":
			words[i] = "an " + t
		case "integer":
			words[i] = "a whole number"
		case "null":
			words[i] = t
		default:
			words[i] = "a " + t
		}
	}
	return strings.Join(words, " or ")
}

func quoteList(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return strings.Join(words, ", ")
}
