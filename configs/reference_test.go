package configs

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
)

const (
	manual = "../docs/configuration.md"
	marker = "<!-- What follows is written by: go test ./configs -update -->\n"
)

// row is a key of the reference.
type row struct{ path, kind, standard, meaning string }

// reference collects the rows of all keys in the order of the structs. Types come from these, the
// defaults and the meanings from the example, which other tests hold to them.
type reference struct {
	words schemaWriter
	rows  []row
}

// kindOf names a type for those who write a configuration.
func kindOf(key string, t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return kindOf(key, t.Elem())
	case t == durationType:
		return "duration"
	case t == secretType:
		return "secret"
	case isChoice(t):
		list, _ := tagged(t, listTag)
		return "true, false or a " + kindOf(key, list.Type)
	case t.Kind() == reflect.Map, t.Kind() == reflect.Slice && isNamed(t.Elem()):
		return "by name"
	case t.Kind() == reflect.Struct:
		return "keys"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem() != secretType:
		return "list"
	case t.Kind() == reflect.Slice:
		return "list of " + kindOf(key, t.Elem())
	case t.Kind() == reflect.Bool:
		return "true or false"
	case reflect.Zero(t).CanInt() && isSize(key):
		return "size"
	case reflect.Zero(t).CanInt():
		return "whole number"
	case reflect.Zero(t).CanFloat():
		return "number"
	}
	return "text"
}

// collect adds the keys of t, which stand at path. examples are the values there with all keys in
// force, defaults those that are defaults.
func (r *reference) collect(t reflect.Type, path string, examples, defaults []*yaml.Node) {
	switch {
	case t.Kind() == reflect.Pointer:
		r.collect(t.Elem(), path, examples, defaults)
	case isChoice(t) || t == secretType:
	case t.Kind() == reflect.Map:
		r.collect(t.Elem(), path+".NAME", below(examples), below(defaults))
	case t.Kind() == reflect.Slice && isNamed(t.Elem()):
		for _, f := range reflect.VisibleFields(t.Elem()) {
			if f.Tag.Get("yaml") == valueTag {
				r.collect(f.Type, path+".NAME", below(examples), below(defaults))
			}
		}
	case t.Kind() == reflect.Slice:
		r.collect(t.Elem(), path+"[]", below(examples), below(defaults))
	case t.Kind() == reflect.Struct:
		for key, f := range fields(reflect.New(t).Elem()) {
			values, words := lookUp(examples, key)
			this := explained{declaring(t, key), key}
			words = cmp.Or(words, r.words.words[this])
			r.words.words[this] = words
			standards, _ := lookUp(defaults, key)
			full := strings.TrimPrefix(path+"."+key, ".")
			r.rows = append(r.rows, row{full, kindOf(key, f.Type()), flow(standards), words})
			r.collect(f.Type(), full, values, standards)
		}
	default: // a single value
	}
}

// flow writes the first value that is no mapping on one line.
func flow(values []*yaml.Node) string {
	if len(values) == 0 || values[0].Kind == yaml.MappingNode || values[0].Kind == yaml.SequenceNode && len(values[0].Content) > 0 && values[0].Content[0].Kind == yaml.MappingNode {
		return ""
	}
	n := *values[0]
	n.Style, n.HeadComment, n.LineComment, n.FootComment = yaml.FlowStyle, "", "", ""
	text, err := yaml.Marshal(&n)
	if err != nil {
		panic(err) // it was read from YAML
	}
	return strings.TrimSpace(string(text))
}

// sentences makes one line of the prose of the example, in which lists are indented.
func sentences(prose string) string {
	prose = regexp.MustCompile(`(?m)^([\w.-]+) {2,}`).ReplaceAllString(prose, "`$1`: ")
	return strings.ReplaceAll(strings.Join(strings.Fields(prose), " "), "|", `\|`)
}

// described is the part of the page that lists the keys, in a table for each part of the file.
func described(rows []row) string {
	var b strings.Builder
	inTable := false
	begin := func(heading string) {
		_, _ = fmt.Fprintf(&b, "\n## %s\n", heading)
		inTable = false
	}
	top := ""
	for i, r := range rows {
		first, _, nested := strings.Cut(r.path, ".")
		hasBelow := i+1 < len(rows) && strings.HasPrefix(rows[i+1].path, strings.TrimSuffix(r.path, "[]")) && !nested && rows[i+1].path != r.path && strings.ContainsAny(strings.TrimPrefix(rows[i+1].path, r.path)[:1], ".[")
		switch {
		case hasBelow:
			begin(r.path)
			if r.meaning != "" {
				_, _ = fmt.Fprintf(&b, "\n%s\n", sentences(r.meaning))
			}
			top = first
			continue
		case !nested && !strings.Contains(r.path, "[") && top != "the file itself":
			begin("The file itself")
			top = "the file itself"
		}
		if !inTable {
			b.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
			inTable = true
		}
		standard := ""
		if r.standard != "" {
			standard = "`" + strings.ReplaceAll(r.standard, "|", `\|`) + "`"
		}
		_, _ = fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.path, r.kind, standard, sentences(r.meaning))
	}
	return b.String()
}

// The manual has each key of the structs, with its type, its default and its meaning, and no other.
func TestTheManualHasEachKey(t *testing.T) {
	t.Parallel()
	root := reflect.TypeFor[settings.Config]()
	keys := map[string]bool{}
	collectKeys(root, keys)
	_, text, _ := strings.Cut(Example, "\n\n")
	marked := commentedDefault.ReplaceAllStringFunc(text, func(line string) string {
		if m := commentedDefault.FindStringSubmatch(line); keys[m[3]] {
			return m[1] + m[2]
		}
		return line
	})
	var all, withDefaults, plain yaml.Node
	for node, text := range map[*yaml.Node]string{&all: uncommentExample(root), &withDefaults: marked, &plain: text} {
		if err := yaml.Unmarshal([]byte(text), node); err != nil {
			t.Fatal(err)
		}
	}
	dropGiven(withDefaults.Content[0], plain.Content[0])
	r := reference{words: schemaWriter{words: map[explained]string{}}}
	r.collect(root, "", all.Content, withDefaults.Content)
	r.rows = nil // what is explained further down is so everywhere
	r.collect(root, "", all.Content, withDefaults.Content)

	page, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), marker)
	if !ok {
		t.Fatalf("%s has no line %s", manual, marker)
	}
	want := head + marker + described(r.rows)
	if flag.Lookup("update").Value.String() == "true" { // see mistakes_test.go
		if err := os.WriteFile(manual, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is not what the structs and the example say; go test ./configs -update writes it", manual)
	}
	unexplained := 0
	for _, r := range r.rows {
		if r.meaning == "" {
			unexplained++
			t.Logf("not explained: %s", r.path)
		}
	}
	if unexplained > len(r.rows)/2 || len(r.rows) < 200 {
		t.Errorf("%d of %d keys have no meaning", unexplained, len(r.rows))
	}
}

// dropGiven takes out of n what the example sets, which is no default.
func dropGiven(n, given *yaml.Node) {
	if n.Kind != yaml.MappingNode || given.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		var same *yaml.Node
		for j := 0; j+1 < len(given.Content); j += 2 {
			if given.Content[j].Value == n.Content[i].Value {
				same = given.Content[j+1]
			}
		}
		switch {
		case same == nil:
		case same.Kind == yaml.MappingNode || same.Tag == "!!null":
			dropGiven(n.Content[i+1], same)
		default:
			continue
		}
		kept = append(kept, n.Content[i], n.Content[i+1])
	}
	n.Content = kept
}
