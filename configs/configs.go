// Package configs reads the one file that an operator writes.
//
// The types and their rules stand with the packages that obey them; here the
// file is read strictly, secrets and variables are put in, and every mistake is
// reported at once, each with file, line, column and what to do. parley never
// writes its configuration.
//
// In every scalar, ${NAME} is a variable of the environment, ${NAME:-default}
// one that may be missing, ${file:/path} the content of a file without its
// last newline, and $$ a dollar sign. What they yield is text: it is never
// read as YAML. A secret X may also be given as X_file, the path of a file
// that holds it.
package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/gateway"
)

// Example is a configuration that explains every key.
//
//go:embed example.yaml
var Example string

// maxSize is far more than any configuration.
const maxSize = 1 << 20

// Load reads the configuration in file. Variables come from lookup. The error,
// if any, is an *Error with every mistake; no secret is ever part of it.
func Load(file string, lookup func(string) (string, bool)) (gateway.Config, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxSize {
		err = fmt.Errorf("%d bytes are more than any configuration has", info.Size())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = " (name it with --config; configs/example.yaml is a commented example)"
		}
		return gateway.Config{}, &Error{File: file, Mistakes: []Mistake{{Message: plainPathError(err) + hint}}}
	}
	return parse(file, data, info.Mode().Perm(), lookup)
}

// Parse reads a configuration that is not in a file of its own; name stands
// for the file in errors.
func Parse(name string, data []byte, lookup func(string) (string, bool)) (gateway.Config, error) {
	return parse(name, data, 0o600, lookup)
}

func parse(name string, data []byte, mode fs.FileMode, lookup func(string) (string, bool)) (gateway.Config, error) {
	d := &decoder{
		lookup: lookup, dir: filepath.Dir(name), places: map[string]place{},
		open: mode&0o077 != 0, mode: mode,
	}
	var cfg gateway.Config
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return cfg, &Error{File: name, source: data, Mistakes: yamlMistakes(err)}
	}
	if len(doc.Content) > 0 {
		d.into(&cfg, doc.Content[0])
	}
	d.stateDir(&cfg)
	cfg = cfg.Defaults()
	var problems gateway.Problems
	if err := cfg.Validate(); errors.As(err, &problems) {
		for _, p := range problems {
			d.problem(p)
		}
	} else if err != nil {
		d.add(place{}, "", err.Error())
	}
	if len(d.mistakes) > 0 {
		e := &Error{File: name, source: data, Mistakes: d.mistakes}
		e.sort()
		return gateway.Config{}, e
	}
	return cfg, nil
}

// stateDir makes the state folder absolute: from home, or from the file's own
// folder. Without one it is where the service manager or the desktop says.
func (d *decoder) stateDir(cfg *gateway.Config) {
	home, _ := d.lookup("HOME")
	switch {
	case cfg.StateDir == "":
		if s, ok := d.lookup("STATE_DIRECTORY"); ok && s != "" {
			cfg.StateDir = s
		} else if s, ok := d.lookup("XDG_STATE_HOME"); ok && s != "" {
			cfg.StateDir = filepath.Join(s, "parley")
		} else if home != "" {
			cfg.StateDir = filepath.Join(home, ".local", "state", "parley")
		}
	case strings.HasPrefix(cfg.StateDir, "~/") && home != "":
		cfg.StateDir = filepath.Join(home, cfg.StateDir[2:])
	case !filepath.IsAbs(cfg.StateDir) && !strings.HasPrefix(cfg.StateDir, "~"):
		if abs, err := filepath.Abs(filepath.Join(d.dir, cfg.StateDir)); err == nil {
			cfg.StateDir = abs
		}
	}
}

func plainPathError(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
