package skills

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// Limits of the specification, in characters.
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

// fields are those of the front matter. Others are refused, as by the specification's own
// validator: what means something elsewhere, such as that only people may start a skill,
// would be passed over in silence. Properties of one's own belong below metadata.
var fields = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

var (
	errNoFrontMatter = errors.New("no front matter: a skill begins with a line ---, keys of YAML, and another line ---")
	errNoMapping     = errors.New("the front matter holds keys of YAML with their values, such as name: my-skill")
)

// split parts the text of a SKILL.md in front matter and instructions.
func split(text string) (front, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", errNoFrontMatter
	}
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return front, strings.TrimSpace(rest[len(front)+len(line):]), nil
		}
		front += line
	}
	return "", "", errNoFrontMatter
}

// parse reads the text of the SKILL.md in a folder of this name, and holds it to the
// specification. It returns every mistake.
func parse(text, folder string) (s Skill, mistakes []error) {
	front, _, err := split(text)
	if err != nil {
		return s, []error{err}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("\n"+front), &doc); err != nil { // lines as in the file
		return s, []error{fmt.Errorf("front matter: %w; a value with a colon needs quotes", err)}
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return s, []error{errNoMapping}
	}
	seen := map[string]bool{}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, err := pairs[i].Value, s.set(pairs[i].Value, pairs[i+1])
		if seen[key] {
			err = fmt.Errorf("%s stands there twice", key)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("line %d: %w", pairs[i].Line, err))
		}
		seen[key] = true
	}
	if !seen["name"] {
		mistakes = append(mistakes, errors.New("name is missing"))
	}
	if !seen["description"] {
		mistakes = append(mistakes, errors.New("description is missing: what the skill does, and when to use it"))
	}
	if len(mistakes) == 0 && norm.NFKC.String(folder) != s.Name {
		mistakes = append(mistakes, fmt.Errorf("name %q is not that of its folder, %q", s.Name, folder))
	}
	return s, mistakes
}

// set takes over one field.
func (s *Skill) set(key string, value *yaml.Node) (err error) {
	switch key {
	case "name":
		if s.Name, err = textOf(key, value, 0); err == nil {
			s.Name = norm.NFKC.String(s.Name)
			err = checkName(s.Name)
		}
	case "description":
		s.Description, err = textOf(key, value, maxDescription)
		s.Description = strings.Join(strings.Fields(s.Description), " ") // one line of the list
	case "compatibility":
		s.Compatibility, err = textOf(key, value, maxCompatibility)
		s.Compatibility = strings.Join(strings.Fields(s.Compatibility), " ")
	case "license":
		_, err = textOf(key, value, 0)
	case "metadata":
		err = checkMetadata(value)
	case "allowed-tools":
		err = checkAllowedTools(value)
	default:
		err = fmt.Errorf("unknown field %q; there are %s, and properties of your own go below metadata", key, strings.Join(fields, ", "))
	}
	return err
}

// textOf returns a value as the text that stands there: 1.0 is the text 1.0.
func textOf(key string, value *yaml.Node, limit int) (string, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	text := strings.TrimSpace(value.Value)
	n := utf8.RuneCountInString(text)
	switch {
	case value.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("%s is a text", key)
	case n == 0 || value.Tag == "!!null":
		return "", fmt.Errorf("%s is empty", key)
	case limit > 0 && n > limit:
		return "", fmt.Errorf("%s has %d characters; at most %d", key, n, limit)
	}
	return text, nil
}

// checkName holds a name to the rules: lower-case letters, digits and single hyphens
// between them, of any script.
func checkName(name string) error {
	ok := !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--") && name == strings.ToLower(name)
	if n := utf8.RuneCountInString(name); n > maxName {
		return fmt.Errorf("name has %d characters; at most %d", n, maxName)
	}
	for _, r := range name {
		ok = ok && (r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	if !ok {
		return fmt.Errorf("name %q: only lower-case letters, digits, and single hyphens between them", name)
	}
	return nil
}

// checkMetadata requires a map from texts to texts.
func checkMetadata(value *yaml.Node) error {
	if value.Kind != yaml.MappingNode || slices.ContainsFunc(value.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }) {
		return errors.New("metadata is a map from texts to texts")
	}
	return nil
}

// checkAllowedTools requires a text with names between spaces, or a list of names. The
// field grants nothing here: which tools an agent has is said in the configuration.
func checkAllowedTools(value *yaml.Node) error {
	if value.Kind == yaml.SequenceNode {
		if slices.ContainsFunc(value.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }) {
			return errors.New("allowed-tools is a list of names")
		}
		return nil
	}
	_, err := textOf("allowed-tools", value, 0)
	return err
}
