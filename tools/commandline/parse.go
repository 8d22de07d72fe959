package commandline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Arguments returns the arguments of a call, as JSON, from texts as name=value: what a person
// types. A value is a number or a boolean where its parameter is; what does not fit is left to
// the tool to refuse.
func (s Spec) Arguments(pairs []string) (json.RawMessage, error) {
	values := map[string]any{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch _, twice := values[name]; {
		case !ok || name == "":
			return nil, fmt.Errorf("%q is not name=value", pair)
		case twice:
			return nil, fmt.Errorf("%s is given twice", name)
		}
		values[name] = value
		p, _ := s.parameter(name)
		isNumber := p.Type == Integer || p.Type == Number
		if isNumber && json.Valid([]byte(value)) || p.Type == Boolean && slices.Contains([]string{"true", "false"}, value) {
			values[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(values)
}
