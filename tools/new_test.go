package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/tools"
)

type grep struct {
	Pattern string   `json:"pattern" jsonschema:"what to look for" minLength:"1" maxLength:"20"`
	Mode    string   `json:"mode,omitempty" jsonschema:"how to match" enum:"literal,regexp"`
	Limit   int      `json:"limit,omitempty" minimum:"1" maximum:"500"`
	Paths   []string `json:"paths,omitempty"`
	Where   *place   `json:"where,omitempty"`
}

type place struct {
	Branch string `json:"branch" pattern:"^[a-z]+$"`
}

func (g *grep) Validate() error {
	if g.Pattern == "forbidden" {
		return errors.New("\"pattern\" must not be forbidden")
	}
	return nil
}

func mustNew[In any](t *testing.T, name string, cat func(In) tools.Category, run func(context.Context, In, tools.Call) (tools.Result, error)) tools.Tool {
	t.Helper()
	tool, err := tools.New(name, "does "+name, cat, run)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func echo[In any](_ context.Context, in In, _ tools.Call) (tools.Result, error) {
	b, err := json.Marshal(in)
	return tools.Result{Content: string(b)}, err
}

func mustSet(t *testing.T, ts ...tools.Tool) *tools.Set {
	t.Helper()
	s, err := tools.NewSet(ts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check does what the loop does before it runs a call.
func check(s *tools.Set, name, raw string) (tools.Arguments, error) {
	a, err := tools.DecodeArguments(raw)
	if err != nil {
		return a, err
	}
	return a, s.Check(name, a)
}

// requirements F01, F02
func TestTheSchemaComesFromTheStruct(t *testing.T) {
	t.Parallel()
	var s struct {
		Type                 string
		AdditionalProperties *bool
		Required             []string
		Properties           map[string]struct {
			Type        any
			Description string
			Enum        []string
			Minimum     *float64
			MinLength   *int
		}
	}
	if err := json.Unmarshal(mustNew(t, "grep", nil, echo[grep]).Definition().Schema, &s); err != nil {
		t.Fatal(err)
	}
	p := s.Properties
	switch {
	case s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties:
		t.Errorf("not a closed object: %+v", s)
	case len(s.Required) != 1 || s.Required[0] != "pattern":
		t.Errorf("required: %v", s.Required)
	case p["pattern"].Description != "what to look for" || *p["pattern"].MinLength != 1:
		t.Errorf("pattern: %+v", p["pattern"])
	case len(p["mode"].Enum) != 2 || *p["limit"].Minimum != 1:
		t.Errorf("mode, limit: %+v", p)
	case p["paths"].Type != "array":
		t.Errorf("a list may be null: %+v", p["paths"])
	}
}

// requirements TS09
func TestS6_1_ValidArgumentsExecute(t *testing.T) {
	t.Parallel()
	set := mustSet(t, mustNew(t, "grep", nil, echo[grep]))
	a, err := check(set, "grep", `{"limit":5e0,"pattern":"x","where":{"branch":"main"}}`)
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := set.Lookup("grep")
	res, err := tool.Run(t.Context(), tools.Call{Name: "grep", Arguments: a.JSON()})
	if want := `{"pattern":"x","limit":5,"where":{"branch":"main"}}`; err != nil || res.Content != want {
		t.Fatalf("got %s, %v, want %s", res.Content, err, want)
	}
}

func TestS6_2_InvalidArgumentsAreExplainedByField(t *testing.T) {
	t.Parallel()
	set := mustSet(t, mustNew(t, "grep", nil, echo[grep]))
	for _, c := range []struct{ raw, want string }{
		{`{}`, `"pattern" is required`},
		{`{"pattern":3}`, `"pattern" must be a string, not a whole number`},
		{`{"pattern":null}`, `"pattern" must be a string, not null`},
		{`{"pattern":""}`, `"pattern" must not be empty`},
		{`{"pattern":"123456789012345678901"}`, `"pattern" must have at most 20 characters, not 21`},
		{`{"Pattern":"x"}`, `there is no parameter "Pattern"; it is spelled "pattern"`},
		{`{"pattern":"x","patern":"y"}`, `there is no parameter "patern"; did you mean "pattern"?`},
		{`{"pattern":"x","zzzzzzzzz":1}`, `the parameters are: limit, mode, paths, pattern, where`},
		{`{"pattern":"x","mode":"glob"}`, `"mode" must be one of "literal", "regexp", not "glob"`},
		{`{"pattern":"x","limit":0}`, `"limit" must be at least 1, not 0`},
		{`{"pattern":"x","limit":1.5}`, `"limit" must be a whole number, not a number`},
		{`{"pattern":"x","limit":501}`, `"limit" must be at most 500, not 501`},
		{`{"pattern":"x","paths":["a",1]}`, `"paths[1]" must be a string`},
		{`{"pattern":"x","paths":null}`, `"paths" must be an array, not null`},
		{`{"pattern":"x","where":{}}`, `"where.branch" is required`},
		{`{"pattern":"x","where":{"branch":"Main"}}`, `does not match`},
		{`{"pattern":"forbidden"}`, `must not be forbidden`},
	} {
		if _, err := check(set, "grep", c.raw); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.raw, err, c.want)
		}
	}
}

func TestACallPastTheSetIsCheckedAllTheSame(t *testing.T) {
	t.Parallel()
	ran := false
	tool := mustNew(t, "grep", func(grep) tools.Category { return tools.Read },
		func(context.Context, grep, tools.Call) (tools.Result, error) {
			ran = true
			return tools.Result{}, nil
		})
	c := tools.Call{Name: "grep", Arguments: json.RawMessage(`{"pattern":"a","PATTERN":"b"}`)}
	if got := tool.Category(c); got != tools.Admin {
		t.Errorf("category %s, want admin", got)
	}
	if _, err := tool.Run(t.Context(), c); !errors.Is(err, tools.ErrPermanent) || ran {
		t.Errorf("got %v, ran %v", err, ran)
	}
}

// requirements F04
func TestTheCategoryMayDependOnTheArguments(t *testing.T) {
	t.Parallel()
	tool := mustNew(t, "grep", func(g grep) tools.Category {
		if g.Mode == "regexp" {
			return tools.Write
		}
		return tools.Read
	}, echo[grep])
	for raw, want := range map[string]tools.Category{
		`{"pattern":"x"}`: tools.Read, `{"pattern":"x","mode":"regexp"}`: tools.Write,
	} {
		if got := tool.Category(tools.Call{Arguments: json.RawMessage(raw)}); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestAKeyThatDiffersInCaseIsRefusedInOpenSchemasToo(t *testing.T) {
	t.Parallel()
	s, err := tools.ParseSchema(json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for raw, ok := range map[string]bool{`{"command":"ls","more":1}`: true, `{"COMMAND":"ls"}`: false} {
		a, err := tools.DecodeArguments(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(a); (err == nil) != ok {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestAToolThatCannotWorkIsRefusedWhenItIsMade(t *testing.T) {
	t.Parallel()
	type withFunc struct{ F func() }
	type withEnum struct {
		N int `enum:"1,2"`
	}
	_, notStruct := tools.New("x", "", nil, echo[string])
	_, noSchema := tools.New("x", "", nil, echo[withFunc])
	_, badTag := tools.New("x", "", nil, echo[withEnum])
	_, badName := tools.New("a b", "", nil, echo[grep])
	_, noRun := tools.New[grep]("x", "", nil, nil)
	for name, err := range map[string]error{
		"input is no struct": notStruct, "no schema": noSchema, "bad tag": badTag, "bad name": badName, "no run": noRun,
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAToolWithoutParametersTakesAnEmptyObject(t *testing.T) {
	t.Parallel()
	set := mustSet(t, mustNew(t, "now", nil, echo[struct{}]))
	if got := string(set.Definitions()[0].Schema); !strings.Contains(got, `"properties":{}`) {
		t.Errorf("schema %s", got)
	}
	if _, err := check(set, "now", ""); err != nil {
		t.Error(err)
	}
	if _, err := check(set, "now", `{"x":1}`); err == nil {
		t.Error("an unknown parameter passed")
	}
}
