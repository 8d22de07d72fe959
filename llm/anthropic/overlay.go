package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// overlay replaces fields of a JSON object and leaves all others, and their
// order, as they are; a field that the object has not comes last. The object
// has been checked to be one.
func overlay(object json.RawMessage, set map[string]any) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	var out bytes.Buffer
	out.WriteByte('{')
	put := func(name string, value any) {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		key, _ := marshalUnescaped(name)
		raw, _ := marshalUnescaped(value) // strings and raw JSON that was parsed before always encode
		out.Write(key)
		out.WriteByte(':')
		out.Write(raw)
	}
	if _, err := d.Token(); err != nil {
		return object
	}
	left := maps.Clone(set)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return object
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return object
		}
		key, _ := name.(string)
		if v, ok := set[key]; ok {
			put(key, v)
			delete(left, key)
			continue
		}
		put(key, value)
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		put(key, left[key])
	}
	out.WriteByte('}')
	return out.Bytes()
}
