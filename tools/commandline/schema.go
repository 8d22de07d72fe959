package commandline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// property is a parameter in a JSON Schema.
type property struct {
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	MinLength   *int     `json:"minLength,omitempty"`
	MaxLength   *int     `json:"maxLength,omitempty"`
	Minimum     *float64 `json:"minimum,omitempty"`
	Maximum     *float64 `json:"maximum,omitempty"`
}

// schema returns what the model is shown of the parameters, and what values are held to. (G04)
func (s Spec) schema() (json.RawMessage, error) {
	object := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
		Additional bool                `json:"additionalProperties"`
	}{Type: "object", Properties: map[string]property{}}
	for _, p := range s.Parameters {
		q := property{
			Type: p.Type, Description: p.Description, Enum: p.Enum,
			MinLength: p.MinLength, MaxLength: p.MaxLength, Minimum: p.Minimum, Maximum: p.Maximum,
		}
		if p.Pattern != "" {
			whole, err := anchorPattern(p.Pattern)
			if err != nil {
				return nil, fmt.Errorf("pattern of parameter %s: %w", p.Name, err)
			}
			q.Pattern = whole
		}
		object.Properties[p.Name] = q
		if !p.Optional {
			object.Required = append(object.Required, p.Name)
		}
	}
	return json.Marshal(object)
}

// anchorPattern returns a pattern that fits where p fits the whole of a text. What begins and
// ends so already stays as its author wrote it.
func anchorPattern(p string) (string, error) {
	// By itself first: "a)|(b" is no pattern, and would be one inside of a group.
	if _, err := regexp.Compile(p); err != nil {
		return "", err
	}
	tree, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return "", err
	}
	if parts := tree.Sub; tree.Op == syntax.OpConcat && parts[0].Op == syntax.OpBeginText && parts[len(parts)-1].Op == syntax.OpEndText {
		return p, nil
	}
	return "^(?:" + p + ")$", nil
}
