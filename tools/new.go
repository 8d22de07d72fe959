package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/llm"
)

// New builds a tool from a typed function. The schema comes from the struct In:
//
//	type grep struct {
//		Pattern string `json:"pattern" jsonschema:"what to look for" minLength:"1"`
//		Mode    string `json:"mode,omitempty" jsonschema:"how to match" enum:"literal,regexp"`
//		Limit   int    `json:"limit,omitempty" jsonschema:"most matches" minimum:"1" maximum:"500"`
//	}
//
// A field is required unless it says omitempty or omitzero; the tag jsonschema
// describes it to the model; enum, minimum, maximum, minLength, maxLength and
// pattern (RE2) restrict it. Parameters that are not in the struct are refused.
// When *In has a method Validate() error it is asked last, for what no schema
// can say; its text is for the model.
//
// cat is asked for each call, nil means Read. run gets the same value that was
// validated. A call whose arguments do not decode is of category Admin, and its
// Run returns a permanent error without calling run.
//
// It is an error when In is no struct, holds what JSON cannot, or the name is
// not one that all providers take.
//
// An announcement, of which there is one at most, makes the tool an [Announcer].
func New[In any](name, doc string, cat func(In) Category, run func(ctx context.Context, in In, c Call) (Result, error), says ...Announcement) (Tool, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if run == nil {
		return nil, fmt.Errorf("tool %s: no function to run", name)
	}
	t := reflect.TypeFor[In]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("tool %s: its input %v is not a struct", name, t)
	}
	s, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("tool %s: make schema: %w", name, err)
	}
	if err := restrict(t, s); err != nil {
		return nil, fmt.Errorf("tool %s: make schema: %w", name, err)
	}
	if s.Properties == nil { // OpenAI wants the key also when there are none
		s.Properties = map[string]*jsonschema.Schema{}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("tool %s: write schema: %w", name, err)
	}
	checked, err := ParseSchema(text)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", name, err)
	}
	made := &typedTool[In]{
		def:    llm.Definition{Name: name, Description: strings.TrimSpace(doc), Schema: text},
		schema: checked,
		cat:    cat,
		run:    run,
	}
	if len(says) > 0 {
		made.says = says[0]
		if of := made.says.Of; of != "" && s.Properties[of] == nil {
			return nil, fmt.Errorf("tool %s: there is no parameter %q to announce", name, of)
		}
	}
	return made, nil
}

// WithRun returns t with another function to run. What does not depend on the function, above
// all the schema, is not made again. t is what New returned for the same In; anything else
// panics.
func WithRun[In any](t Tool, run func(ctx context.Context, in In, c Call) (Result, error)) Tool {
	made := *t.(*typedTool[In]) // the caller made it
	made.run = run
	return &made
}

type typedTool[In any] struct {
	def    llm.Definition
	schema *Schema
	cat    func(In) Category
	run    func(context.Context, In, Call) (Result, error)
	says   Announcement
}

func (t *typedTool[In]) Definition() llm.Definition { return t.def }

func (t *typedTool[In]) compiledSchema() *Schema { return t.schema }

// Announcement implements [Announcer].
func (t *typedTool[In]) Announcement() Announcement { return t.says }

func (t *typedTool[In]) Category(c Call) Category {
	if t.cat == nil {
		return Read
	}
	in, err := t.decode(c)
	if err != nil {
		return Admin
	}
	return t.cat(in)
}

func (t *typedTool[In]) Run(ctx context.Context, c Call) (Result, error) {
	in, err := t.decode(c)
	if err != nil {
		return Result{}, Errorf(Permanent, "invalid arguments: %w", err)
	}
	return t.run(ctx, in, c)
}

// Check validates the arguments beyond the schema, for Set.Check.
func (t *typedTool[In]) Check(a Arguments) error {
	_, err := t.read(a)
	return err
}

// decode does not trust its caller: a direct call of Run gets the same
// checks as the loop.
func (t *typedTool[In]) decode(c Call) (In, error) {
	a, err := DecodeArguments(string(c.Arguments))
	if err != nil {
		var none In
		return none, err
	}
	if err := t.schema.Check(a); err != nil {
		var none In
		return none, err
	}
	return t.read(a)
}

func (t *typedTool[In]) read(a Arguments) (in In, err error) {
	d := json.NewDecoder(strings.NewReader(a.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return in, fmt.Errorf("%s has a value that does not fit", fieldName(wrong.Field))
		}
		return in, err
	}
	if v, ok := any(&in).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return in, err
		}
	}
	return in, nil
}

// restrict adds what the tags of t's fields say to the schema made from t, and
// takes null away from arrays: an absent one says the same.
func restrict(t reflect.Type, s *jsonschema.Schema) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] == "array" {
			s.Type, s.Types = "array", nil
		}
		return restrict(t.Elem(), s.Items)
	case reflect.Map:
		return restrict(t.Elem(), s.AdditionalProperties)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			p := s.Properties[name]
			if f.Anonymous || p == nil {
				continue
			}
			if err := restrict(f.Type, p); err != nil {
				return err
			}
			if err := restrictField(f, p); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
	}
	return nil
}

func restrictField(f reflect.StructField, p *jsonschema.Schema) error {
	if values, ok := f.Tag.Lookup("enum"); ok {
		if f.Type.Kind() != reflect.String {
			return errors.New("enum is for strings")
		}
		for v := range strings.SplitSeq(values, ",") {
			p.Enum = append(p.Enum, v)
		}
	}
	p.Pattern = f.Tag.Get("pattern")
	for tag, to := range map[string]**int{"minLength": &p.MinLength, "maxLength": &p.MaxLength} {
		if v, ok := f.Tag.Lookup(tag); ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				return fmt.Errorf("tag %s: %w", tag, err)
			}
			*to = &n
		}
	}
	for tag, to := range map[string]**float64{"minimum": &p.Minimum, "maximum": &p.Maximum} {
		if v, ok := f.Tag.Lookup(tag); ok {
			n, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return fmt.Errorf("tag %s: %w", tag, err)
			}
			*to = &n
		}
	}
	return nil
}
