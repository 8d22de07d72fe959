package costs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// object is a JSON object whose members are taken out one by one, so that what
// is left over was unknown. Unlike the decoder of the standard library it
// tells "input" from "Input" and sees a name that is there twice.
type object struct {
	list []member
	errs []error
}

type member struct {
	name  string
	value json.RawMessage
}

// parseObject reads b, which must be one object and nothing else.
func parseObject(b []byte) (*object, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	o := &object{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := t.(string)
		if !ok {
			return nil, errors.New("not a JSON object")
		}
		if seen[name] {
			return nil, fmt.Errorf("%s is there twice", quote(name))
		}
		seen[name] = true
		m := member{name: name}
		if err := d.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("%s: %w", quote(name), err)
		}
		o.list = append(o.list, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the JSON object")
	}
	return o, nil
}

// take removes the member of that name; null counts as not there.
func (o *object) take(name string) (json.RawMessage, bool) {
	for i, m := range o.list {
		if m.name == name {
			o.list = append(o.list[:i], o.list[i+1:]...)
			return m.value, !bytes.Equal(m.value, []byte("null"))
		}
	}
	return nil, false
}

// takeText takes a text that must be there.
func (o *object) takeText(name string) string {
	raw, ok := o.take(name)
	if !ok {
		o.addError(name, "required")
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || s == "" {
		o.addError(name, "must be a text")
	}
	return s
}

// members takes an object and gives its members.
func (o *object) members(name string) []member {
	raw, ok := o.take(name)
	if !ok {
		return nil
	}
	inner, err := parseObject(raw)
	if err != nil {
		o.addError(name, "%v", err)
		return nil
	}
	return inner.list
}

func (o *object) addError(field, format string, args ...any) {
	o.errs = append(o.errs, fmt.Errorf("%s: %w", field, fmt.Errorf(format, args...)))
}

// errors returns all mistakes, and the unknown members.
func (o *object) errors() []error {
	for _, m := range o.list {
		o.errs = append(o.errs, fmt.Errorf("%s: unknown field", quote(m.name)))
	}
	return o.errs
}
