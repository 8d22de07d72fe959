package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxWork is how many schemas one set of arguments may be held to, with all that references lead
// to. Some authors of schemas are strangers: a few references that each lead to two others keep a
// validator busy for hours, and one that leads back to where it stands never lets it return.
const maxWork = 100_000

var (
	errBase   = errors.New("an $id inside of it has references lead elsewhere, which cannot be used here")
	errCircle = errors.New("a reference in it leads back to where it stands")
	errWork   = fmt.Errorf("its references lead to more than %d checks", maxWork)
)

// Keys of a schema below which other schemas stand: for the same value and for parts of it; as a
// schema, as a list, or by names.
var (
	checkSame      = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
	checkSameNamed = []string{"dependentSchemas", "dependencies"}
	checkParts     = []string{
		"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
		"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
	}
	checkPartsNamed = []string{"properties", "patternProperties"}
)

// depthOf returns how deep arguments may be nested so that a schema can be held to them with a
// bounded effort.
func depthOf(s *jsonschema.Schema) (int, error) {
	text, err := json.Marshal(s) // as it was understood: keys may have been in any case
	if err != nil {
		return 0, err // the caller says what it is
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return 0, err // as above
	}
	w := worker{root: root, known: map[place]int{}}
	last := 0
	for depth := range MaxArgumentDepth + 1 {
		n, err := w.work(root, depth)
		switch {
		case errors.Is(err, errWork) && depth > 1:
			return depth - 1, nil
		case err != nil:
			return 0, err
		case n == last: // nothing stands deeper
			return MaxArgumentDepth, nil
		}
		last = n
	}
	return MaxArgumentDepth, nil
}

// worker counts the checks that a schema asks for.
type worker struct {
	root  any
	known map[place]int // underWay: it is being counted
}

// place is a schema that a value is held to whose parts are nested so deep.
type place struct {
	schema uintptr
	depth  int
}

const underWay = -1

// work returns how many schemas a value is held to by one, whose parts are nested depth deep.
func (w *worker) work(schema any, depth int) (int, error) {
	s, ok := schema.(map[string]any)
	if !ok {
		return 1, nil // true or false
	}
	at := place{reflect.ValueOf(s).Pointer(), depth}
	if n, ok := w.known[at]; ok {
		if n == underWay {
			return 0, errCircle
		}
		return n, nil
	}
	if top, _ := w.root.(map[string]any); at.schema != reflect.ValueOf(top).Pointer() && s["$id"] != nil {
		return 0, errBase
	}
	w.known[at] = underWay
	same, err := w.same(s)
	if err != nil {
		return 0, err
	}
	n := 1
	add := func(all []any, depth int) error {
		for _, sub := range all {
			m, err := w.work(sub, depth)
			if err != nil {
				return err
			}
			if n += m; n > maxWork {
				return errWork
			}
		}
		return nil
	}
	if err = add(same, depth); err == nil && depth > 0 {
		err = add(below(s, checkParts, checkPartsNamed), depth-1)
	}
	if err != nil {
		delete(w.known, at)
		return 0, err
	}
	w.known[at] = n
	return n, nil
}

// same returns the schemas that a value of s is held to as well.
func (w *worker) same(s map[string]any) ([]any, error) {
	all := below(s, checkSame, checkSameNamed)
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := s[key].(string); ok {
			return nil, fmt.Errorf("%s cannot be used here", key)
		}
	}
	ref, ok := s["$ref"].(string)
	if !ok {
		return all, nil
	}
	to, err := w.resolve(ref)
	return append(all, to), err
}

// below returns the schemas below keys of s.
func below(s map[string]any, keys, named []string) (all []any) {
	for _, key := range keys {
		switch v := s[key].(type) {
		case []any:
			all = append(all, v...)
		case map[string]any, bool:
			all = append(all, v)
		}
	}
	for _, key := range named {
		byName, _ := s[key].(map[string]any)
		for _, v := range byName {
			all = append(all, v)
		}
	}
	return all
}

// resolve returns what a reference leads to.
func (w *worker) resolve(ref string) (any, error) {
	u, err := url.Parse(ref)
	if err != nil || !strings.HasPrefix(ref, "#") || u.Fragment != "" && !strings.HasPrefix(u.Fragment, "/") {
		return nil, fmt.Errorf("the reference %q cannot be used here: it has to be # or a path that begins with #/", prefix(ref, 60))
	}
	at := w.root
	if u.Fragment == "" {
		return at, nil
	}
	for _, name := range strings.Split(u.Fragment[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, fmt.Errorf("the reference %q leads nowhere", prefix(ref, 60))
			}
			at = v[i]
		default:
			at = nil
		}
	}
	if at == nil {
		return nil, fmt.Errorf("the reference %q leads nowhere", prefix(ref, 60))
	}
	return at, nil
}

// nesting returns how deep a value is nested.
func nesting(v any) (deepest int) {
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			deepest = max(deepest, 1+nesting(part))
		}
	case []any:
		for _, part := range v {
			deepest = max(deepest, 1+nesting(part))
		}
	}
	return deepest
}
