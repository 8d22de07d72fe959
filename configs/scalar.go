package configs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
)

// scalar reads one value. Words decide what it is, not YAML's guesses: an id
// may be written with quotes or without.
func (d *decoder) scalar(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode {
		d.wrong(n, path, "a single value belongs here")
		return
	}
	e, err := d.expand(n.Value)
	if v.Type() == secretType {
		// Before anything is reported, so that nothing shows it.
		d.secret(e.text)
		for _, s := range e.put {
			d.secret(s)
		}
	}
	if err != nil {
		d.wrong(n, path, err.Error())
		return
	}
	d.values[path] = e
	switch {
	case v.Type() == secretType:
		d.literal(v, n, path, e)
	case v.Type() == durationType:
		t, err := time.ParseDuration(e.text)
		if err != nil {
			d.wrong(n, path, e.show()+" is not a duration such as 90s, 10m or 1h30m")
			return
		}
		v.SetInt(int64(t))
		d.zero(t == 0, path)
	case v.Kind() == reflect.String:
		v.SetString(e.text)
	case v.Kind() == reflect.Bool:
		switch e.text {
		case "true", "True", "TRUE":
			v.SetBool(true)
		case "false", "False", "FALSE":
			v.SetBool(false)
		default:
			d.wrong(n, path, e.show()+" is neither true nor false")
		}
	case v.CanInt():
		i, err := strconv.ParseInt(strings.ReplaceAll(e.text, "_", ""), 10, v.Type().Bits())
		if err != nil {
			d.wrong(n, path, e.show()+" is not a whole number")
			return
		}
		v.SetInt(i)
		d.zero(i == 0, path)
	default:
		panic("configs: no rule for " + v.Type().String())
	}
}

func (d *decoder) zero(is bool, path string) {
	if is {
		d.zeros = append(d.zeros, path)
	}
}

// replaced reports each zero that was written out, and of which Defaults made
// something else: it does not mean what its author thought.
func (d *decoder) replaced(cfg *settings.Config) {
	for _, path := range d.zeros {
		v := valueOf(cfg)
		for key := range strings.SplitSeq(path, ".") {
			v = under(v, key)
		}
		if !v.IsZero() {
			d.add(d.places[path], path, fmt.Sprintf("0 cannot be said here; without this line it is the default, %v", v))
		}
	}
}

// under is the value of key in v, a struct or a map.
func under(v reflect.Value, key string) reflect.Value {
	if v.Kind() == reflect.Map {
		return v.MapIndex(reflect.ValueOf(key))
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == key {
			return v.Field(i)
		}
	}
	panic("configs: no key " + key)
}

// literal takes a secret that stands in the configuration or in a variable.
func (d *decoder) literal(v reflect.Value, n *yaml.Node, path string, e expansion) {
	written := e.text != "" && (len(e.put) == 0 || e.fallback)
	switch {
	case written && d.mode&0o077 != 0:
		d.wrong(n, path, fmt.Sprintf("a secret, but others may read this file (its mode is %04o): chmod 600 it, or write ${NAME} or %s_file", d.mode, last(path)))
	case e.text == "" && e.empty != "":
		d.wrong(n, path, fmt.Sprintf("the variable %s is set, but empty", e.empty))
	default:
		d.keep(v, n, path, e.text)
	}
}

// secretFile reads the secret of path from the file that the value names.
func (d *decoder) secretFile(v reflect.Value, n *yaml.Node, path, full string, p place) {
	if first, both := d.places[path]; both {
		d.add(p, full, fmt.Sprintf("%s is given too, in line %d: only one of the two", last(path), first.line))
		return
	}
	d.places[path], d.places[full] = p, p
	d.secretAt[path] = true
	var name string
	before := len(d.mistakes)
	d.value(reflect.ValueOf(&name).Elem(), n, full)
	if len(d.mistakes) > before {
		// What is missing is said once, with the key that is there.
		d.meant[path] = true
		return
	}
	text, err := d.read(name)
	switch {
	case err != nil && len(d.values[full].put) > 0:
		d.wrong(n, full, "the file that ${…} names cannot be read")
	case err != nil:
		d.wrong(n, full, err.Error())
	case text == "":
		d.wrong(n, full, "the file is empty")
	default:
		d.keep(v, n, full, text)
	}
	d.meant[path] = len(d.mistakes) > before
}

func (d *decoder) keep(v reflect.Value, n *yaml.Node, path, text string) {
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		d.wrong(n, path, "the secret holds a line break or another control character; a token or key has none")
		return
	}
	v.Set(reflect.ValueOf(settings.NewSecret(text)))
}
