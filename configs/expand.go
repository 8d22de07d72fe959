package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand puts variables and files into one scalar. expanded says whether there
// was anything to put in.
func (d *decoder) expand(s string) (text string, expanded bool, err error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "$")
		b.WriteString(before)
		if !ok {
			return b.String(), expanded, nil
		}
		switch {
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			s = rest[1:]
		case strings.HasPrefix(rest, "{"):
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return "", false, errors.New("${ without its }; write $$ for a dollar sign")
			}
			value, err := d.variable(name)
			if err != nil {
				return "", false, err
			}
			b.WriteString(value)
			s, expanded = after, true
		default:
			b.WriteByte('$')
			s = rest
		}
	}
}

func (d *decoder) variable(name string) (string, error) {
	if path, isFile := strings.CutPrefix(name, "file:"); isFile {
		return d.read(path)
	}
	name, fallback, has := strings.Cut(name, ":-")
	if !variable.MatchString(name) {
		return "", fmt.Errorf("${%s}: a variable's name is letters, digits and _; a file is ${file:/path}", name)
	}
	if v, ok := d.lookup(name); ok && (v != "" || !has) {
		return v, nil
	}
	if has {
		return fallback, nil
	}
	return "", fmt.Errorf("${%s}: that variable is not set in the environment; set it, or write ${%s:-default}", name, name)
}

// read gives the content of a file without its last newline. A path that is
// not absolute starts at the configuration's own folder, or, for a plain name,
// at the folder that a service manager gave credentials in.
func (d *decoder) read(path string) (string, error) {
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(d.dir, path)
		if dir, ok := d.lookup("CREDENTIALS_DIRECTORY"); ok && dir != "" && filepath.Base(path) == path {
			if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
				full = filepath.Join(dir, path)
			}
		}
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return "", fmt.Errorf("read %s: %s", full, plainPathError(err)) //nolint:err113 // for the operator's eyes
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}
