package configs

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
)

// decodeScalar reads one value. Words decide what it is, not YAML's guesses: an id
// may be written with quotes or without.
func (d *decoder) decodeScalar(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode {
		d.addMistakeAt(n, path, "a single value belongs here")
		return
	}
	if d.literal != nil && d.literal(path) {
		d.setScalar(v, n, path, expansion{text: n.Value})
		return
	}
	e, err := d.expand(n.Value)
	if v.Type() == secretType {
		// Before anything is reported, so that nothing shows it.
		d.addSecret(e.text)
		for _, s := range e.substituted {
			d.addSecret(s)
		}
	}
	if err != nil {
		d.addMistakeAt(n, path, err.Error())
		return
	}
	d.values[path] = e
	d.setScalar(v, n, path, e)
}

// setScalar reads the text of one value.
func (d *decoder) setScalar(v reflect.Value, n *yaml.Node, path string, e expansion) {
	if e.text == unlimited && v.CanInt() {
		if i, ok := unlimitedValue(path); ok {
			v.SetInt(i)
		} else {
			d.addMistakeAt(n, path, e.display()+" cannot be said here; it needs a limit")
		}
		return
	}
	switch {
	case v.Type() == secretType:
		d.setLiteralSecret(v, n, path, e)
	case v.Type() == durationType:
		t, err := parseDuration(e.text)
		if err != nil {
			d.addMistakeAt(n, path, e.display()+" is not a duration such as 90s, 10m, 1h30m or 7d")
			return
		}
		v.SetInt(int64(t))
		d.noteZero(t == 0, path)
	case v.Kind() == reflect.String:
		v.SetString(e.text)
	case v.Kind() == reflect.Bool:
		switch e.text {
		case "true", "True", "TRUE":
			v.SetBool(true)
		case "false", "False", "FALSE":
			v.SetBool(false)
		default:
			d.addMistakeAt(n, path, e.display()+" is neither true nor false")
		}
	case v.CanInt():
		i, err := parseWhole(e.text, isSize(path), v.Type().Bits())
		if err != nil {
			d.addMistakeAt(n, path, e.display()+" is "+err.Error())
			return
		}
		v.SetInt(i)
		d.noteZero(i == 0, path)
	case v.CanFloat():
		f, err := strconv.ParseFloat(e.text, v.Type().Bits())
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.addMistakeAt(n, path, e.display()+" is not a number such as 0.75")
			return
		}
		v.SetFloat(f)
		d.noteZero(f == 0, path)
	default:
		panic("configs: no rule for " + v.Type().String())
	}
}

func (d *decoder) noteZero(is bool, path string) {
	if is {
		d.zeros = append(d.zeros, path)
	}
}

// reportReplacedZeros reports each zero that was written out, and of which Defaults made
// something else: it does not mean what its author thought.
func (d *decoder) reportReplacedZeros(cfg *settings.Config) {
	for _, path := range d.zeros {
		v := valueOf(cfg)
		for key := range strings.SplitSeq(path, ".") {
			key, index, listed := strings.Cut(strings.TrimSuffix(key, "]"), "[")
			v = fieldByKey(v, key)
			if i, err := strconv.Atoi(index); listed && err == nil {
				v = v.Index(i)
			}
		}
		if !v.IsZero() {
			d.addMistake(d.positions[path], path, fmt.Sprintf("0 cannot be said here; without this line it is the default, %v", v))
		}
	}
}

// fieldByKey returns the value of key in v, a struct or a map.
func fieldByKey(v reflect.Value, key string) reflect.Value {
	if v.Kind() == reflect.Map {
		return v.MapIndex(reflect.ValueOf(key))
	}
	for k, f := range fields(v) {
		if k == key {
			return f
		}
	}
	panic("configs: no key " + key)
}

// setLiteralSecret takes a secret that stands in the configuration or in a variable.
func (d *decoder) setLiteralSecret(v reflect.Value, n *yaml.Node, path string, e expansion) {
	written := e.text != "" && (len(e.substituted) == 0 || e.fallback)
	switch {
	case written && d.mode&0o077 != 0:
		d.addMistakeAt(n, path, fmt.Sprintf("a secret, but others may read this file (its mode is %04o): chmod 600 it, or write ${NAME} or %s_file", d.mode, lastKey(path)))
	case e.text == "" && e.empty != "":
		d.addMistakeAt(n, path, fmt.Sprintf("variable %s is set, but empty", e.empty))
	default:
		d.setSecret(v, n, path, e.text)
	}
}

// setSecretFromFile reads the secret of path from the file that the value names.
func (d *decoder) setSecretFromFile(v reflect.Value, n *yaml.Node, path, full string, p position) {
	if first, both := d.positions[path]; both {
		d.addMistake(p, full, fmt.Sprintf("%s is given too, in line %d: only one of the two", lastKey(path), first.line))
		return
	}
	d.positions[path], d.positions[full] = p, p
	d.secretAt[path] = true
	var name string
	before := len(d.mistakes)
	d.decodeValue(reflect.ValueOf(&name).Elem(), n, full)
	if len(d.mistakes) > before {
		// What is missing is said once, with the key that is there.
		d.meant[path] = true
		return
	}
	text, err := d.readFile(name)
	switch {
	case err != nil && len(d.values[full].substituted) > 0:
		d.addMistakeAt(n, full, "the file that ${…} names cannot be read")
	case err != nil:
		d.addMistakeAt(n, full, err.Error())
	case text == "":
		d.addMistakeAt(n, full, "the file is empty")
	default:
		d.setSecret(v, n, full, text)
	}
	d.meant[path] = len(d.mistakes) > before
}

func (d *decoder) setSecret(v reflect.Value, n *yaml.Node, path, text string) {
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		d.addMistakeAt(n, path, "the secret holds a line break or another control character; a token or key has none")
		return
	}
	v.Set(reflect.ValueOf(settings.NewSecret(text)))
}
