// Package configs reads the one file that an operator writes.
//
// The types and their rules stand with the packages that obey them; here the
// file is read strictly, secrets and variables are put in, and every mistake is
// reported at once, each with file, line, column and what to do. parley never
// changes its configuration.
//
// In every value, ${NAME} is a variable of the environment, ${NAME:-default}
// one that may be missing, ${file:/path} the content of a file without its last
// newline, and $$ a dollar sign. What they yield is text: it is never read as
// YAML. A secret X may also be given as X_file, the path of a file that holds
// it. A path that is not absolute starts at the configuration's own folder.
package configs

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"parley/gateway/settings"
	"parley/problems"
)

// Example is a configuration that explains every key.
//
//go:embed example.yaml
var Example string

// maxSize is far more than any configuration.
const maxSize = 1 << 20

// Load reads the configuration in file. Variables come from lookup, which is
// normally os.LookupEnv. The error, if any, is an *Error with every mistake; no
// secret is ever part of it.
//
// roles, if there are any, hold in place of those of the configuration: a process that runs
// no turns needs no programs of tools.
func Load(file string, lookup func(string) (string, bool), roles ...string) (settings.Config, error) {
	data, mode, err := loadFile(file)
	if err != nil {
		return settings.Config{}, err
	}
	return parse(file, data, mode, lookup, roles)
}

// Locate reports where in file the mistakes are that building a gateway found in a
// configuration that Load accepted: an *Error if err is a problems.List,
// and else err with the file's name.
func Locate(file string, lookup func(string) (string, bool), err error) error {
	found, ok := errors.AsType[problems.List](err)
	if !ok {
		return fmt.Errorf("%s: %w", file, err)
	}
	data, mode, loadErr := loadFile(file)
	if loadErr != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	d := newDecoder(filepath.Dir(file), mode, lookup)
	var cfg settings.Config
	if root := d.parseDocument(data); root != nil {
		d.decodeValue(valueOf(&cfg), root, "")
	}
	for _, p := range found {
		d.addProblem(p)
	}
	return d.report(file)
}

func loadFile(file string) ([]byte, fs.FileMode, error) {
	data, mode, err := readLimited(file, maxSize)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = " (parley init writes a commented one; another is named with --config)"
		}
		return nil, 0, &Error{File: file, Mistakes: []Mistake{{Message: withoutPath(err) + hint}}}
	}
	return data, mode, nil
}

// Parse reads a configuration that is not in a file of its own; name stands
// for the file in errors, and its folder is where relative paths start.
func Parse(name string, data []byte, lookup func(string) (string, bool)) (settings.Config, error) {
	return parse(name, data, 0o600, lookup, nil)
}

func parse(name string, data []byte, mode fs.FileMode, lookup func(string) (string, bool), roles []string) (settings.Config, error) {
	d := newDecoder(filepath.Dir(name), mode, lookup)
	var cfg settings.Config
	if root := d.parseDocument(data); root != nil {
		d.decodeValue(valueOf(&cfg), root, "")
	}
	var named *toolsFile
	if !d.broken {
		if len(roles) > 0 {
			cfg.Roles = roles
		}
		d.makeAbsolute(&cfg)
		cfg.ReadFrom = d.allReadFrom(name)
		cfg = cfg.Defaults()
		d.reportReplacedZeros(&cfg)
		d.completeServers(&cfg)
		d.refuseHiddenEnvironment(&cfg)
		named = d.readTools(&cfg)
		var all problems.List
		all.Check("", cfg.Validate())
		for _, p := range all {
			if !named.take(p) {
				d.addProblem(p)
			}
		}
	}
	report := d.report(name)
	report.Mistakes = append(report.Mistakes, named.mistakes()...)
	if len(report.Mistakes) > 0 {
		return settings.Config{}, report
	}
	return cfg, nil
}

// parseDocument gives the root of the one document in data, or nil if there is none.
func (d *decoder) parseDocument(data []byte) *yaml.Node {
	reader := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := reader.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		d.broken = true
		d.mistakes = append(d.mistakes, syntaxMistake(data, err))
		return nil
	}
	switch err := reader.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.broken = true
		d.mistakes = append(d.mistakes, syntaxMistake(data, err))
		return nil
	default:
		d.addMistake(positionOf(&second), "", "a second document begins here (---); a configuration is one")
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

var errTooLarge = errors.New("far too much")

// readLimited reads at most limit bytes, whatever kind of file it is, and says who
// may read it.
func readLimited(file string, limit int64) ([]byte, fs.FileMode, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err // the caller names the file
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err // as above
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, 0, err // as above
	}
	if int64(len(data)) > limit {
		return nil, 0, fmt.Errorf("more than %d bytes: %w", limit, errTooLarge)
	}
	return data, info.Mode().Perm(), nil
}

// withoutPath is err without the path, which the caller says.
func withoutPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
