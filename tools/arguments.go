package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a call's arguments. A model that exceeds one reads so in the result.
const (
	MaxArgumentBytes = 256 << 10
	MaxArgumentDepth = 32
	MaxArgumentKeys  = 1000
)

// Arguments is what a model passed to a tool, decoded once and strictly. What
// is validated, shown to a person, hashed for an approval and executed is this
// one value and its JSON; the text that the model wrote is never read again.
// The zero value is the empty object. Arguments never change, so they may be
// shared.
type Arguments struct {
	fields map[string]any // map[string]any, []any, string, int64, float64, bool, nil
	text   string
}

// DecodeArguments reads the JSON text of a call. It accepts one object and
// nothing else: keys that occur twice in an object, also when only their case
// differs (encoding/json would take either), trailing data, bytes that are not
// UTF-8, numbers that no int64 or float64 holds, and anything beyond the limits
// are refused. The empty text counts as an object without fields, because
// providers send it for tools without parameters.
//
// The error is a sentence for the model. An error of kind [ErrNotJSON] says
// that the text is not one JSON object at all.
func DecodeArguments(raw string) (Arguments, error) {
	if len(raw) > MaxArgumentBytes {
		return Arguments{}, fmt.Errorf("the arguments are longer than %d bytes", MaxArgumentBytes)
	}
	if !utf8.ValidString(raw) {
		return Arguments{}, fmt.Errorf("%w: they hold bytes that are not UTF-8", ErrNotJSON)
	}
	if strings.TrimSpace(raw) == "" {
		return Arguments{}, nil
	}
	d := argumentDecoder{dec: json.NewDecoder(strings.NewReader(raw))}
	d.dec.UseNumber()
	v, err := d.value("", 0)
	if err != nil {
		return Arguments{}, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return Arguments{}, fmt.Errorf("%w: they must be a JSON object, not %s", ErrNotJSON, typeName(v))
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return Arguments{}, fmt.Errorf("%w: something follows the object", ErrNotJSON)
	}
	text, err := encode(fields)
	if err != nil {
		return Arguments{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return Arguments{fields, text}, nil
}

// ErrNotJSON marks the errors of [DecodeArguments] that say the text is not a
// JSON object, so there is nothing to show but the text itself.
var ErrNotJSON = errors.New("the arguments are not valid JSON")

// JSON returns the canonical form: no white space, keys sorted, whole numbers
// without exponent or fraction.
func (a Arguments) JSON() json.RawMessage { return json.RawMessage(a.String()) }

// String returns JSON as text.
func (a Arguments) String() string {
	if a.text == "" {
		return "{}"
	}
	return a.text
}

// Field returns the value of the field of that name, and whether it is given: a
// map[string]any, []any, string, int64, float64, bool or nil, which must not be changed.
func (a Arguments) Field(field string) (any, bool) {
	v, ok := a.fields[field]
	return v, ok
}

// Text returns the field of that name as a text; "" where there is none.
func (a Arguments) Text(field string) string {
	switch v := a.fields[field].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		s, err := encode(v)
		if err != nil {
			return "" // decoded from JSON, it always can
		}
		return s
	}
}

func (a Arguments) object() map[string]any {
	if a.fields == nil {
		return map[string]any{}
	}
	return a.fields
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

type argumentDecoder struct {
	dec  *json.Decoder
	keys int
}

func (d *argumentDecoder) value(path string, depth int) (any, error) {
	t, err := d.dec.Token()
	if err != nil {
		return nil, notJSONError(err)
	}
	switch t := t.(type) {
	case json.Delim:
		if depth++; depth > MaxArgumentDepth {
			return nil, fmt.Errorf("%s is nested deeper than %d levels", fieldName(path), MaxArgumentDepth)
		}
		if t == '{' {
			return d.object(path, depth)
		}
		return d.array(path, depth)
	case json.Number:
		return decodeNumber(path, t)
	default:
		return t, nil // string, bool, nil
	}
}

func (d *argumentDecoder) object(path string, depth int) (any, error) {
	m := map[string]any{}
	folded := map[string]string{}
	for d.dec.More() {
		t, err := d.dec.Token()
		if err != nil {
			return nil, notJSONError(err)
		}
		key, _ := t.(string)
		if d.keys++; d.keys > MaxArgumentKeys {
			return nil, fmt.Errorf("the arguments have more than %d keys", MaxArgumentKeys)
		}
		at := joinPath(path, key)
		if first, ok := folded[foldKey(key)]; ok {
			if first == key {
				return nil, fmt.Errorf("%s is given twice", fieldName(at))
			}
			return nil, fmt.Errorf("%s and %s differ in case only; give one of them", fieldName(joinPath(path, first)), fieldName(at))
		}
		folded[foldKey(key)] = key
		v, err := d.value(at, depth)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	_, err := d.dec.Token()
	return m, notJSONError(err)
}

func (d *argumentDecoder) array(path string, depth int) (any, error) {
	s := []any{}
	for d.dec.More() {
		v, err := d.value(fmt.Sprintf("%s[%d]", path, len(s)), depth)
		if err != nil {
			return nil, err
		}
		s = append(s, v)
	}
	_, err := d.dec.Token()
	return s, notJSONError(err)
}

// decodeNumber keeps whole numbers exact and everything else as the float64 that
// will be used, so that two readers cannot see two values.
func decodeNumber(path string, n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	const exact = 1 << 53 // beyond it a float64 skips whole numbers
	whole := err == nil && f == math.Trunc(f)
	switch {
	case err != nil, whole && math.Abs(f) > exact && !strings.ContainsAny(n.String(), ".eE"):
		return nil, fmt.Errorf("%s is a number out of range", fieldName(path))
	case whole && math.Abs(f) <= exact:
		return int64(f), nil
	default:
		return f, nil
	}
}

func notJSONError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: they end too early", ErrNotJSON)
	default:
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
}

// foldKey maps all spellings that encoding/json takes for the same field to one:
// letters without case, and the two letters that fold into ASCII from outside
// it, the long s and the Kelvin sign.
func foldKey(key string) string {
	return strings.ToLower(strings.ToUpper(key))
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fieldName names a place in the arguments in a sentence. Names come from the
// model, so they are quoted and cut.
func fieldName(path string) string {
	if path == "" {
		return "the arguments"
	}
	const longest = 100
	if len(path) > longest {
		path = prefix(path, longest) + "…"
	}
	return strconv.Quote(path)
}

// typeName names the type of a decoded value.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		if v == math.Trunc(v) {
			return "a whole number"
		}
		return "a number"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
