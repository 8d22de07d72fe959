package configs

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	bare     = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)
)

// The mistakes of one value. None repeats what was written: in the wrong place
// it may be a secret.
var (
	errOpen   = errors.New("${ without its }; write $$ for a dollar sign")
	errName   = errors.New("between ${ and } belongs the name of a variable (letters, digits and _), or file: and a path")
	errNested = errors.New("${…} does not stand inside another; put it into a variable of its own")
	errBare   = errors.New("a variable is written with braces, ${NAME}; a dollar sign itself is $$")
)

// expansion is a value with its variables put in.
type expansion struct {
	text        string
	substituted []string // what was put in
	fallback    bool     // some of it is a default, which stands in the file
	defaults    []string // those of them
	empty       string   // a variable that is set, but to nothing
}

func (d *decoder) expand(s string) (expansion, error) {
	var e expansion
	if bare.MatchString(s) {
		return e, errBare
	}
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(s, "$")
		b.WriteString(before)
		switch {
		case !more:
			e.text = b.String()
			return e, nil
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			s = rest[1:]
		case strings.HasPrefix(rest, "{"):
			inside, after, closed := strings.Cut(rest[1:], "}")
			switch {
			case !closed:
				return e, errOpen
			case strings.Contains(inside, "${"):
				return e, errNested
			}
			text, err := d.substitute(inside, &e)
			if err != nil {
				return e, err
			}
			e.substituted = append(e.substituted, text)
			b.WriteString(text)
			s = after
		default:
			b.WriteByte('$')
			s = rest
		}
	}
}

func (d *decoder) substitute(inside string, e *expansion) (string, error) {
	if path, isFile := strings.CutPrefix(inside, "file:"); isFile {
		return d.readFile(path)
	}
	name, fallback, has := strings.Cut(inside, ":-")
	if !variable.MatchString(name) {
		return "", errName
	}
	v, ok := d.lookup(name)
	switch {
	case ok && v == "" && !has:
		e.empty = name
		return v, nil
	case ok && v != "":
		return v, nil
	case has:
		e.fallback = e.fallback || fallback != ""
		e.defaults = append(e.defaults, fallback)
		return fallback, nil
	}
	// the text is for the operator
	return "", fmt.Errorf("variable %s is not set in the environment; set it, or write ${%s:-default}", name, name)
}

// maxFile is more than any secret has.
const maxFile = 64 << 10

// readFile gives the content of a file without its last newline. A path that is
// not absolute starts at the configuration's own folder, or, for a plain name,
// at the folder that a service manager gave credentials in.
func (d *decoder) readFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("file without a path") // for the operator
	}
	places := []string{d.absolutePath(path)}
	if dir, _ := d.lookup("CREDENTIALS_DIRECTORY"); filepath.IsAbs(dir) && filepath.Base(path) == path {
		places = []string{filepath.Join(dir, path), places[0]}
	}
	var err error
	for _, p := range places {
		var data []byte
		if data, _, err = readLimited(p, maxFile); err == nil {
			text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
			d.addSecret(text)
			d.readFrom = append(d.readFrom, p)
			return text, nil
		}
	}
	return "", fmt.Errorf("%s: %s", displayPath(path), withoutPath(err)) // for the operator
}

// allReadFrom returns the absolute paths of the configuration's file and of the files that
// were read for it.
func (d *decoder) allReadFrom(name string) []string {
	all := append([]string{name}, d.readFrom...)
	for i, p := range all {
		if abs, err := filepath.Abs(p); err == nil {
			all[i] = abs
		}
	}
	return all
}

// displayPath is path, unless it may be the secret itself, written where the path
// of its file belongs.
func displayPath(path string) string {
	if len(path) > 200 || !strings.Contains(path, "/") {
		return "the file that is named here"
	}
	return path
}
