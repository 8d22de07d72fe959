package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
	"parley/problems"
	"parley/tools"
)

// position is where something stands in the file; the zero place is nowhere.
type position struct {
	line, column int
	key          string // of the line, if it may be shown
	keyColumn    int
}

func positionOf(n *yaml.Node) position { return position{line: n.Line, column: n.Column} }

// decoder fills the configuration's types from a YAML tree. It goes on after a
// mistake, so that all are reported.
type decoder struct {
	lookup    func(string) (string, bool)
	dir       string
	mode      fs.FileMode
	positions map[string]position  // by path: where the key stands, or the item of a list
	values    map[string]expansion // by path
	meant     map[string]bool      // paths that an unknown key was probably meant to be
	zeros     []string             // paths where 0 is written out
	secrets   []string
	readFrom  []string        // files of secrets
	secretAt  map[string]bool // paths of secrets that are given, or by file
	mistakes  []Mistake
	broken    bool // too much for the parts to be asked

	literal func(path string) bool // values that hold no variables; nil: none
	entries map[string][]string    // of a mapping in its order: the paths of its entries
}

func newDecoder(dir string, mode fs.FileMode, lookup func(string) (string, bool)) *decoder {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	return &decoder{
		lookup: lookup, dir: dir, mode: mode,
		positions: map[string]position{}, values: map[string]expansion{}, meant: map[string]bool{}, secretAt: map[string]bool{},
		entries: map[string][]string{},
	}
}

func valueOf[T any](v *T) reflect.Value { return reflect.ValueOf(v).Elem() }

func (d *decoder) addMistake(p position, path, message string) {
	d.mistakes = append(d.mistakes, Mistake{
		Line: p.line, Column: p.column, Path: path, Message: message, key: p.key, keyColumn: p.keyColumn,
	})
}

// addMistakeAt reports a mistake in the value n of path.
func (d *decoder) addMistakeAt(n *yaml.Node, path, message string) {
	p := positionOf(n)
	if k := d.positions[path]; k.line == n.Line {
		p.key, p.keyColumn = k.key, k.keyColumn
	}
	d.addMistake(p, path, message)
}

// addProblem reports a mistake that only the parts could find, at the nearest
// place that is in the file.
func (d *decoder) addProblem(p problems.Problem) {
	path, message := p.Path, p.Err.Error()
	if d.meant[path] {
		return // it is there, under a mistyped key, and that was said
	}
	for _, m := range d.mistakes {
		if isWithin(path, m.Path) || isWithin(m.Path, path) && errors.Is(p.Err, problems.ErrRequired) {
			return // it could not even be read
		}
	}
	message = d.values[path].conceal(message)
	near := path
	where, ok := d.positions[near]
	for !ok && near != "" {
		near = near[:max(strings.LastIndexAny(near, ".["), 0)]
		where, ok = d.positions[near]
	}
	d.addMistake(where, path, message)
}

// isWithin reports whether path is parent or stands below it.
func isWithin(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

var (
	secretType   = reflect.TypeFor[settings.Secret]()
	durationType = reflect.TypeFor[time.Duration]()
)

func (d *decoder) decodeValue(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.secretAt[path] = v.Type() == secretType
	if n.Style&yaml.TaggedStyle != 0 {
		d.addMistakeAt(n, path, "tags mean nothing here; a value that begins with ! needs quotes")
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // a key with nothing behind it: as if it were not there
	}
	switch {
	case v.Type() == secretType, v.Type() == durationType:
		d.decodeScalar(v, n, path)
	case v.Kind() == reflect.Pointer: // of what may be zero, and then means it
		e, zeros := reflect.New(v.Type().Elem()), len(d.zeros)
		d.decodeValue(e.Elem(), n, path)
		d.zeros = d.zeros[:zeros]
		v.Set(e)
	case isChoice(v.Type()):
		d.decodeChoice(v, n, path)
	case v.Kind() == reflect.Struct:
		d.decodeFields(v, n, path)
	case v.Kind() == reflect.Map:
		d.decodeEntries(v, n, path)
	case v.Kind() == reflect.Slice && isNamed(v.Type().Elem()):
		d.decodeNamed(v, n, path)
	case v.Kind() == reflect.Slice:
		d.decodeList(v, n, path)
	default:
		d.decodeScalar(v, n, path)
	}
}

// walkMapping walks the pairs of a mapping and refuses a key that stands twice.
func (d *decoder) walkMapping(n *yaml.Node, path string, pair func(full, key string, p position, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.broken = d.broken || path == ""
		d.addMistakeAt(n, path, "keys belong here, each on its line with its value, indented")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind == yaml.ScalarNode && k.Tag == "!!merge":
			d.addMistake(positionOf(k), path, "merge keys (<<) are not read here: write the keys out")
			continue
		case k.Kind != yaml.ScalarNode:
			d.addMistake(positionOf(k), path, "a plain key belongs here")
			continue
		}
		shown, ok := displayKey(k.Value)
		p, full := positionOf(k), joinPath(path, shown)
		if ok {
			p.key, p.keyColumn = shown, k.Column
		}
		if line, twice := seen[k.Value]; twice {
			d.addMistake(p, full, fmt.Sprintf("stands here a second time; the first is in line %d", line))
			continue
		}
		seen[k.Value] = k.Line
		pair(full, k.Value, p, n.Content[i+1])
	}
}

func (d *decoder) decodeFields(v reflect.Value, n *yaml.Node, path string) {
	byKey := map[string]reflect.Value{}
	var keys []string
	for key, f := range fields(v) {
		byKey[key] = f
		keys = append(keys, key)
	}
	d.walkMapping(n, path, func(full, key string, p position, value *yaml.Node) {
		f, known := byKey[key]
		base, byFile := strings.CutSuffix(key, "_file")
		if !known && byFile && byKey[base].IsValid() && byKey[base].Type() == secretType {
			d.setSecretFromFile(byKey[base], value, joinPath(path, base), full, p)
			return
		}
		if !known {
			near := tools.Nearest(key, keys)
			for _, k := range near {
				d.meant[joinPath(path, k)] = true
			}
			d.addMistake(p, full, "unknown key"+suggestion(near, keys))
			return
		}
		if first, twice := d.positions[full]; twice && f.Type() == secretType {
			d.addMistake(p, full, fmt.Sprintf("also given by file, in line %d: only one of the two", first.line))
			return
		}
		d.positions[full] = p
		d.decodeValue(f, value, full)
	})
}

// fields yields the fields of a struct, and of structs embedded in it, by their keys.
func fields(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if key := f.Tag.Get("yaml"); key != "" && key[0] != ',' && !yield(key, v.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

func (d *decoder) decodeEntries(v reflect.Value, n *yaml.Node, path string) {
	m := reflect.MakeMap(v.Type())
	d.walkMapping(n, path, func(full, key string, p position, value *yaml.Node) {
		if full != joinPath(path, key) {
			d.addMistake(p, full, "a name is lower-case letters, digits, - and _, at most 32; what stands here is not shown, as it may be a secret")
			return
		}
		d.positions[full] = p
		e := reflect.New(v.Type().Elem()).Elem()
		d.decodeValue(e, value, full)
		m.SetMapIndex(reflect.ValueOf(key), e)
	})
	v.Set(m)
}

// Tags of the fields of what has a name: the key of an entry, and what stands behind it,
// where that is a single field.
const (
	keyTag   = ",key"
	valueTag = ",value"
)

// isNamed reports whether a list of t is written as a mapping, whose order counts.
func isNamed(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Tag.Get("yaml") == keyTag
	})
}

// decodeNamed fills a list of what has names from a mapping, in its order.
func (d *decoder) decodeNamed(v reflect.Value, n *yaml.Node, path string) {
	s := reflect.MakeSlice(v.Type(), 0, len(n.Content)/2)
	d.walkMapping(n, path, func(full, key string, p position, value *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		target := e
		for _, f := range reflect.VisibleFields(e.Type()) {
			switch f.Tag.Get("yaml") {
			case keyTag:
				e.FieldByIndex(f.Index).SetString(key)
			case valueTag:
				target = e.FieldByIndex(f.Index)
			}
		}
		if full != joinPath(path, key) {
			if target.Kind() != reflect.String || !variable.MatchString(key) {
				d.addMistake(p, full, "a short name of letters, digits and _ belongs here; what stands here is not shown, as it may be a secret")
				return
			}
			full = fmt.Sprintf("%s[%d]", full, s.Len()) // a variable of the environment
		}
		d.positions[full] = p
		d.entries[path] = append(d.entries[path], full)
		d.decodeValue(target, value, full)
		s = reflect.Append(s, e)
	})
	v.Set(s)
}

// Tags of the fields of what is written as true, false or a list.
const (
	flagTag = ",flag"
	listTag = ",list"
)

// tagged returns the field of a struct that has a tag.
func tagged(t reflect.Type, tag string) (f reflect.StructField, ok bool) {
	if t.Kind() != reflect.Struct {
		return f, false
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("yaml") == tag {
			return f, true
		}
	}
	return f, false
}

// isChoice reports whether t is written as true, false or a list.
func isChoice(t reflect.Type) bool {
	_, ok := tagged(t, flagTag)
	return ok
}

// decodeChoice reads true, false or a list.
func (d *decoder) decodeChoice(v reflect.Value, n *yaml.Node, path string) {
	flag, _ := tagged(v.Type(), flagTag)
	list, _ := tagged(v.Type(), listTag)
	if n.Kind == yaml.SequenceNode {
		d.decodeList(v.FieldByIndex(list.Index), n, path)
		return
	}
	if n.Kind != yaml.ScalarNode {
		d.addMistakeAt(n, path, "true, false or a list belongs here")
		return
	}
	before := len(d.mistakes)
	d.decodeScalar(v.FieldByIndex(flag.Index), n, path)
	if len(d.mistakes) > before {
		d.mistakes[len(d.mistakes)-1].Message += "; a list stands in brackets, [a, b], also one of one"
	}
}

func (d *decoder) decodeList(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		d.addMistakeAt(n, path, "a list belongs here: [a, b], or a line with a dash for each")
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		item := fmt.Sprintf("%s[%d]", path, i)
		d.positions[item] = positionOf(e)
		d.decodeValue(s.Index(i), e, item)
	}
	v.Set(s)
}

func suggestion(near, keys []string) string {
	if len(near) > 0 {
		return fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
	}
	return "; there are " + strings.Join(keys, ", ")
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
