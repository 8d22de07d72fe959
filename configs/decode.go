package configs

import (
	"fmt"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/gateway"
	"parley/tools"
)

// place is where something stands in the file; the zero place is nowhere.
type place struct{ line, column int }

func at(n *yaml.Node) place { return place{n.Line, n.Column} }

// decoder fills the configuration's types from a YAML tree. It goes on after a
// mistake, so that all are reported.
type decoder struct {
	lookup   func(string) (string, bool)
	dir      string
	open     bool // others than the owner may read the file
	mode     fs.FileMode
	places   map[string]place // by path
	mistakes []Mistake
}

func (d *decoder) add(p place, path, message string) {
	d.mistakes = append(d.mistakes, Mistake{Line: p.line, Column: p.column, Path: path, Message: message})
}

// problem reports a mistake that only the parts could find, at the nearest
// place that is in the file.
func (d *decoder) problem(p gateway.Problem) {
	for _, m := range d.mistakes {
		if m.Path == p.Path {
			return // it could not even be read
		}
	}
	path := p.Path
	where, ok := d.places[path]
	for !ok && path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		where, ok = d.places[path]
	}
	d.add(where, p.Path, p.Err.Error())
}

func (d *decoder) into(cfg *gateway.Config, n *yaml.Node) {
	d.value(reflect.ValueOf(cfg).Elem(), n, "")
}

var (
	secretType   = reflect.TypeFor[gateway.Secret]()
	durationType = reflect.TypeFor[time.Duration]()
)

func (d *decoder) value(v reflect.Value, n *yaml.Node, path string) {
	d.places[path] = at(n)
	if n.Kind == yaml.AliasNode {
		n = n.Alias
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
func (d *decoder) mapping(n *yaml.Node, path string, pair func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.add(at(n), path, "a mapping belongs here, with a key and its value on each line")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			d.add(at(k), path, "a plain key belongs here")
			continue
		}
		if line, twice := seen[k.Value]; twice {
			d.add(at(k), join(path, k.Value), fmt.Sprintf("stands here a second time; the first is in line %d", line))
			continue
		}
		seen[k.Value] = k.Line
		pair(k.Value, k, n.Content[i+1])
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
	d.mapping(n, path, func(key string, k, value *yaml.Node) {
		full := join(path, key)
		if f, ok := byKey[key]; ok {
			d.value(f, value, full)
			d.places[full] = at(k)
			return
		}
		if base, isFile := strings.CutSuffix(key, "_file"); isFile {
			if f, ok := byKey[base]; ok && f.Type() == secretType {
				d.secretFile(f, value, join(path, base), full)
				return
			}
		}
		d.add(at(k), full, "there is no such key"+suggest(key, keys))
	})
}

func (d *decoder) entries(v reflect.Value, n *yaml.Node, path string) {
	m := reflect.MakeMap(v.Type())
	d.mapping(n, path, func(key string, k, value *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		full := join(path, key)
		d.value(e, value, full)
		d.places[full] = at(k)
		m.SetMapIndex(reflect.ValueOf(key), e)
	})
	v.Set(m)
}

func (d *decoder) list(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		d.add(at(n), path, "a list belongs here: [a, b], or one line with a dash for each")
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		d.value(s.Index(i), e, fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(s)
}

func (d *decoder) scalar(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode {
		d.add(at(n), path, "a single value belongs here")
		return
	}
	text, expanded, err := d.expand(n.Value)
	if err != nil {
		d.add(at(n), path, err.Error())
		return
	}
	switch {
	case v.Type() == secretType:
		if !expanded && text != "" && d.open {
			d.add(at(n), path, fmt.Sprintf("holds a secret, but others may read the file (its mode is %04o): chmod 600 it, or write ${NAME} or %s_file", d.mode, last(path)))
			return
		}
		v.Set(reflect.ValueOf(gateway.NewSecret(text)))
	case v.Type() == durationType:
		t, err := time.ParseDuration(text)
		if err != nil {
			d.add(at(n), path, fmt.Sprintf("%q is not a duration such as 90s, 10m or 1h30m", text))
			return
		}
		v.SetInt(int64(t))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil || len(text) == 1 {
			d.add(at(n), path, fmt.Sprintf("%q is neither true nor false", text))
			return
		}
		v.SetBool(b)
	case v.CanInt():
		i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, v.Type().Bits())
		if err != nil {
			d.add(at(n), path, fmt.Sprintf("%q is not a whole number", text))
			return
		}
		v.SetInt(i)
	default:
		panic("configs: no rule for " + v.Type().String())
	}
}

// secretFile reads the secret of path from the file that the value names.
func (d *decoder) secretFile(v reflect.Value, n *yaml.Node, path, full string) {
	d.places[full] = at(n)
	var name string
	d.scalar(reflect.ValueOf(&name).Elem(), n, full)
	if name == "" {
		return
	}
	if _, both := d.places[path]; both {
		d.add(at(n), full, last(path)+" is given too: only one of the two")
		return
	}
	d.places[path] = at(n)
	text, err := d.read(name)
	switch {
	case err != nil:
		d.add(at(n), full, err.Error())
	case text == "":
		d.add(at(n), full, fmt.Sprintf("%s is empty", name))
	default:
		v.Set(reflect.ValueOf(gateway.NewSecret(text)))
	}
}

func suggest(key string, keys []string) string {
	if near := tools.Nearest(key, keys); len(near) > 0 {
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
