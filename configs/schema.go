package configs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
)

// Schema returns a JSON Schema (2020-12) of a configuration, with which editors complete keys,
// explain them, and mark what Load would refuse for its form: unknown keys and values of
// another kind. What depends on other values, only Load knows. The explanations are those of
// Example.
func Schema() ([]byte, error) {
	root := reflect.TypeFor[settings.Config]()
	var example yaml.Node
	if err := yaml.Unmarshal([]byte(uncommentExample(root)), &example); err != nil {
		return nil, fmt.Errorf("read the example: %w", err)
	}
	w := schemaWriter{words: map[explained]string{}}
	w.schemaOf(root, example.Content) // what is explained further down is so everywhere
	s := w.schemaOf(root, example.Content)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "A configuration of parley"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return append(data, '\n'), nil
}

// The two kinds of lines of the example that are comments and stand for keys.
var (
	commentedDefault = regexp.MustCompile(`(?m)^( *)# (([a-z_]+): .+)$`)
	commentedSample  = regexp.MustCompile(`(?m)^( *)#e\.g\. (.+)$`)
)

// uncommentExample returns the example with all keys that it explains in force.
func uncommentExample(root reflect.Type) string {
	keys := map[string]bool{}
	collectKeys(root, keys)
	_, text, _ := strings.Cut(Example, "\n\n") // the head explains the notation
	text = commentedDefault.ReplaceAllStringFunc(text, func(line string) string {
		m := commentedDefault.FindStringSubmatch(line)
		if !keys[m[3]] {
			return line // a sentence with a colon
		}
		return m[1] + m[2]
	})
	return commentedSample.ReplaceAllString(text, "$1$2")
}

// collectKeys adds the keys of t and of all below it.
func collectKeys(t reflect.Type, keys map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collectKeys(t.Elem(), keys)
	case reflect.Struct:
		if t == secretType {
			return
		}
		for key, f := range fields(reflect.New(t).Elem()) {
			keys[key] = true
			collectKeys(f.Type(), keys)
		}
	default: // a single value
	}
}

// Single values may come from a variable, which is text.
const (
	variablePattern = `\$\{`
	durationPattern = `^-?([0-9.]+(ns|us|µs|ms|s|m|h))+$|^[0-9]+d([0-9.]+(ns|us|µs|ms|s|m|h))*$|^0$|` + variablePattern
	sizePattern     = `^[-+]?[0-9][0-9_]*\s*([KMGT]i|[kKMGT])?B$|` + numberPattern
	numberPattern   = `^[-+]?[0-9][0-9_.eE+-]*$|` + variablePattern
	boolPattern     = `^(true|True|TRUE|false|False|FALSE)$|` + variablePattern
)

// explained is a key of a type, such as what all accounts have.
type explained struct {
	in  reflect.Type
	key string
}

// schemaWriter remembers how keys were explained first: the example does so once, where
// several places have the same type.
type schemaWriter struct{ words map[explained]string }

// schemaOf returns the schema of values of t. examples are the nodes of the example where
// such a value stands.
func (w schemaWriter) schemaOf(t reflect.Type, examples []*yaml.Node) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return w.schemaOf(t.Elem(), examples)
	case t == durationType:
		return map[string]any{"type": []string{"string", "integer", "null"}, "pattern": durationPattern}
	case t == secretType, t.Kind() == reflect.String:
		return map[string]any{"type": []string{"string", "number", "boolean", "null"}}
	case isChoice(t):
		list, _ := tagged(t, listTag)
		s := w.schemaOf(list.Type, examples)
		s["type"], s["pattern"] = []string{"boolean", "string", "array", "null"}, boolPattern
		return s
	case t.Kind() == reflect.Struct:
		return w.schemaOfStruct(t, examples)
	case t.Kind() == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": w.schemaOf(t.Elem(), below(examples))}
	case t.Kind() == reflect.Slice && isNamed(t.Elem()):
		element := t.Elem()
		for _, f := range reflect.VisibleFields(element) {
			if f.Tag.Get("yaml") == valueTag {
				element = f.Type
			}
		}
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": w.schemaOf(element, below(examples))}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": w.schemaOf(t.Elem(), below(examples))}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": []string{"boolean", "string", "null"}, "pattern": boolPattern}
	case reflect.Zero(t).CanInt():
		return map[string]any{"type": []string{"integer", "string", "null"}, "pattern": numberPattern}
	case reflect.Zero(t).CanFloat():
		return map[string]any{"type": []string{"number", "string", "null"}, "pattern": numberPattern}
	}
	panic("configs: no schema for " + t.String())
}

func (w schemaWriter) schemaOfStruct(t reflect.Type, examples []*yaml.Node) map[string]any {
	properties := map[string]any{}
	for key, f := range fields(reflect.New(t).Elem()) {
		values, words := lookUp(examples, key)
		s := w.schemaOf(f.Type(), values)
		if f.CanInt() && f.Type() != durationType && isSize(key) {
			s["pattern"] = sizePattern
		}
		if text, ok := s["pattern"].(string); ok && f.CanInt() && w.mayBeUnlimited(key) {
			s["pattern"] = text + "|^" + unlimited + "$"
		}
		this := explained{declaring(t, key), key}
		if words == "" {
			words = w.words[this]
		}
		if words != "" {
			s["description"] = words
			w.words[this] = words
		}
		properties[key] = s
		if f.Type() == secretType {
			properties[key+"_file"] = map[string]any{"type": []string{"string", "null"}, "description": "The path of a file that holds " + key + "."}
		}
	}
	return map[string]any{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// mayBeUnlimited reports whether there is a key of that name that may: the schema does not
// know where a value stands, and says too little rather than too much.
func (schemaWriter) mayBeUnlimited(key string) bool {
	for path := range unlimitedKeys {
		if lastKey(path) == key {
			return true
		}
	}
	return false
}

// declaring returns the struct that has a key: t, or one embedded in it.
func declaring(t reflect.Type, key string) reflect.Type {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("yaml") == key && len(f.Index) > 1 {
			return t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
	}
	return t
}

// lookUp returns the values of a key in mappings, and what the first comment on it says.
func lookUp(mappings []*yaml.Node, key string) (values []*yaml.Node, words string) {
	for _, m := range mappings {
		if m.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			k, v := m.Content[i], m.Content[i+1]
			if k.Value != key {
				continue
			}
			values = append(values, v)
			if words == "" {
				words = prose(k.HeadComment, k.LineComment, v.LineComment)
			}
		}
	}
	return values, words
}

// below returns the values of mappings, and the items of lists.
func below(nodes []*yaml.Node) (all []*yaml.Node) {
	for _, n := range nodes {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 1; i < len(n.Content); i += 2 {
				all = append(all, n.Content[i])
			}
		case yaml.SequenceNode:
			all = append(all, n.Content...)
		default: // a single value has nothing below it
		}
	}
	return all
}

// prose returns comments as one text.
func prose(comments ...string) string {
	var parts []string
	for _, c := range comments {
		var lines []string
		for line := range strings.Lines(c) {
			lines = append(lines, strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")))
		}
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}
