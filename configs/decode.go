package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
	"parley/problems"
	"parley/tools"
)

// place is where something stands in the file; the zero place is nowhere.
type place struct {
	line, column int
	key          string // of the line, if it may be shown
	keyColumn    int
}

func at(n *yaml.Node) place { return place{line: n.Line, column: n.Column} }

// decoder fills the configuration's types from a YAML tree. It goes on after a
// mistake, so that all are reported.
type decoder struct {
	lookup   func(string) (string, bool)
	dir      string
	mode     fs.FileMode
	places   map[string]place     // by path: where the key stands, or the item of a list
	values   map[string]expansion // by path
	meant    map[string]bool      // paths that an unknown key was probably meant to be
	zeros    []string             // paths where 0 is written out
	secrets  []string
	secretAt map[string]bool // paths of secrets that are given, or by file
	mistakes []Mistake
	broken   bool // too much for the parts to be asked
}

func newDecoder(dir string, mode fs.FileMode, lookup func(string) (string, bool)) *decoder {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	return &decoder{
		lookup: lookup, dir: dir, mode: mode,
		places: map[string]place{}, values: map[string]expansion{}, meant: map[string]bool{}, secretAt: map[string]bool{},
	}
}

func valueOf(cfg *settings.Config) reflect.Value { return reflect.ValueOf(cfg).Elem() }

func (d *decoder) add(p place, path, message string) {
	d.mistakes = append(d.mistakes, Mistake{
		Line: p.line, Column: p.column, Path: path, Message: message, key: p.key, keyColumn: p.keyColumn,
	})
}

// wrong reports a mistake in the value n of path.
func (d *decoder) wrong(n *yaml.Node, path, message string) {
	p := at(n)
	if k := d.places[path]; k.line == n.Line {
		p.key, p.keyColumn = k.key, k.keyColumn
	}
	d.add(p, path, message)
}

// problem reports a mistake that only the parts could find, at the nearest
// place that is in the file.
func (d *decoder) problem(p problems.Problem) {
	path, message := p.Path, p.Err.Error()
	if d.meant[path] {
		return // it is there, under a mistyped key, and that was said
	}
	for _, m := range d.mistakes {
		if within(path, m.Path) || within(m.Path, path) && errors.Is(p.Err, problems.ErrRequired) {
			return // it could not even be read
		}
	}
	message = d.values[path].conceal(message)
	near := path
	where, ok := d.places[near]
	for !ok && near != "" {
		near = near[:max(strings.LastIndexAny(near, ".["), 0)]
		where, ok = d.places[near]
	}
	d.add(where, path, message)
}

// within says whether path is parent or stands below it.
func within(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

var (
	secretType   = reflect.TypeFor[settings.Secret]()
	durationType = reflect.TypeFor[time.Duration]()
)

func (d *decoder) value(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.secretAt[path] = v.Type() == secretType
	if n.Style&yaml.TaggedStyle != 0 {
		d.wrong(n, path, "tags mean nothing here; a value that begins with ! needs quotes")
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // a key with nothing behind it: as if it were not there
	}
	switch {
	case v.Type() == secretType, v.Type() == durationType:
		d.scalar(v, n, path)
	case v.Kind() == reflect.Struct:
		d.fields(v, n, path)
	case v.Kind() == reflect.Map:
		d.entries(v, n, path)
	case v.Kind() == reflect.Slice:
		d.list(v, n, path)
	default:
		d.scalar(v, n, path)
	}
}

// mapping walks the pairs of a mapping and refuses a key that stands twice.
func (d *decoder) mapping(n *yaml.Node, path string, pair func(full, key string, p place, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.broken = d.broken || path == ""
		d.wrong(n, path, "keys belong here, each on its line with its value, indented")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind == yaml.ScalarNode && k.Tag == "!!merge":
			d.add(at(k), path, "merge keys (<<) are not read here: write the keys out")
			continue
		case k.Kind != yaml.ScalarNode:
			d.add(at(k), path, "a plain key belongs here")
			continue
		}
		shown, ok := shownKey(k.Value)
		p, full := at(k), join(path, shown)
		if ok {
			p.key, p.keyColumn = shown, k.Column
		}
		if line, twice := seen[k.Value]; twice {
			d.add(p, full, fmt.Sprintf("stands here a second time; the first is in line %d", line))
			continue
		}
		seen[k.Value] = k.Line
		pair(full, k.Value, p, n.Content[i+1])
	}
}

func (d *decoder) fields(v reflect.Value, n *yaml.Node, path string) {
	byKey := map[string]reflect.Value{}
	var keys []string
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "" {
			byKey[key] = v.Field(i)
			keys = append(keys, key)
		}
	}
	d.mapping(n, path, func(full, key string, p place, value *yaml.Node) {
		f, known := byKey[key]
		base, byFile := strings.CutSuffix(key, "_file")
		if !known && byFile && byKey[base].IsValid() && byKey[base].Type() == secretType {
			d.secretFile(byKey[base], value, join(path, base), full, p)
			return
		}
		if !known {
			near := tools.Nearest(key, keys)
			for _, k := range near {
				d.meant[join(path, k)] = true
			}
			d.add(p, full, "there is no such key"+suggestion(near, keys))
			return
		}
		if first, twice := d.places[full]; twice && f.Type() == secretType {
			d.add(p, full, fmt.Sprintf("it is given by file too, in line %d: only one of the two", first.line))
			return
		}
		d.places[full] = p
		d.value(f, value, full)
	})
}

func (d *decoder) entries(v reflect.Value, n *yaml.Node, path string) {
	m := reflect.MakeMap(v.Type())
	d.mapping(n, path, func(full, key string, p place, value *yaml.Node) {
		if full != join(path, key) {
			d.add(p, full, "a name is lower-case letters, digits, - and _, at most 32; what stands here is not shown, as it may be a secret")
			return
		}
		d.places[full] = p
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(e, value, full)
		m.SetMapIndex(reflect.ValueOf(key), e)
	})
	v.Set(m)
}

func (d *decoder) list(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, path, "a list belongs here: [a, b], or a line with a dash for each")
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		item := fmt.Sprintf("%s[%d]", path, i)
		d.places[item] = at(e)
		d.value(s.Index(i), e, item)
	}
	v.Set(s)
}

func suggestion(near, keys []string) string {
	if len(near) > 0 {
		return fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
	}
	return "; there are " + strings.Join(keys, ", ")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
