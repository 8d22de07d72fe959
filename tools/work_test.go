package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/tools"
)

// doubling returns schemas each of which has two references to the next, for the same value or
// for a part of it.
func doubling(n int, shape string) string {
	var defs []string
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		defs = append(defs, fmt.Sprintf(`"d%d":`, i)+fmt.Sprintf(shape, next, next))
	}
	return `{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + strings.Join(defs, ",") + fmt.Sprintf(`,"d%d":{}}}`, n)
}

// A schema by a stranger neither ends the process nor keeps it busy: the validator
// follows references without an end.
func TestParseSchemaRefusesWhatIsCheckedForEver(t *testing.T) {
	t.Parallel()
	const circle, work = "a reference in it leads back to where it stands", "its references lead to more than 100000 checks"
	for text, want := range map[string]string{
		`{"type":"object","$ref":"#"}`:             circle,
		`{"type":"object","allOf":[{"$ref":"#"}]}`: circle,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"not":{"$ref":"#/$defs/a"}}]}}}`:    circle,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b%20c"}},"$defs":{"a/b c":{"if":{"$ref":"#/properties/a"}}}}`: circle,
		`{"type":"object","dependentSchemas":{"a":{"$ref":"#"}}}`:                                                             circle,
		`{"type":"object","AllOf":[{"$REF":"#"}]}`:                                                                            circle,
		`{"type":"object","$defs":{"a":{"$id":"x:y","$ref":"#"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`:                    "an $id inside of it",
		doubling(40, `{"allOf":[%s,%s]}`):                                                                                     work,
		doubling(40, `{"if":%s,"else":%s}`):                                                                                   work,
		`{"type":"object","$defs":{"a":{"$anchor":"x"}},"properties":{"a":{"$ref":"#x"}}}`:                                    `the reference "#x" cannot be used here`,
		`{"type":"object","$dynamicAnchor":"x","properties":{"a":{"$dynamicRef":"#x"}}}`:                                      "$dynamicRef cannot be used here",
	} {
		if _, err := tools.ParseSchema(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.90s: %v, want %q", text, err, want)
		}
	}
}

// What describes trees is used, as deep as it can be held to arguments.
func TestSchemasOfTreesAreUsed(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + `{}` + strings.Repeat("}", n) }
	for text, want := range map[string]int{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                                                    tools.MaxArgumentDepth - 1,
		`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}}}`: 7,
		doubling(6, `{"properties":{"a":{"allOf":[%s,%s]}}}`):                                                  tools.MaxArgumentDepth - 1,
		doubling(40, `{"properties":{"a":{"allOf":[%s,%s]}}}`):                                                 14,
	} {
		s, err := tools.ParseSchema(json.RawMessage(text))
		if err != nil {
			t.Errorf("%.90s: %v", text, err)
			continue
		}
		for n := range min(want+2, tools.MaxArgumentDepth) {
			args, err := tools.DecodeArguments(deep(n))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(args); (err == nil) != (n <= want) {
				t.Errorf("%.90s: arguments of %d levels: %v, want %d at most", text, n, err, want)
			}
		}
	}
}
