package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// root is the module's folder, seen from there.
const root = "."

// mutant is one patch.
type mutant struct {
	name  string // of its file
	guard string
	tests []target
	hang  bool
	hunks []hunk
}

// target is a test that must turn red.
type target struct {
	pkg, name string
	long      bool
}

func (t target) String() string { return t.pkg + " " + t.name }

// hunk is one place of a diff: the text that stands in a file once, and what
// stands there instead.
type hunk struct{ file, old, replacement string }

// load reads all the patches of a folder.
func load(dir string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var ms []mutant
	var problems []error
	for _, path := range paths {
		text, err := os.ReadFile(path) // a patch of this folder
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
		}
		m.name = strings.TrimSuffix(filepath.Base(path), ".patch")
		ms = append(ms, m)
	}
	return ms, errors.Join(problems...)
}

// parse reads a patch. Where a hunk stands in its file is told by its text
// alone, so that a patch outlives what is written above it.
func parse(text string) (m mutant, err error) {
	file := ""
	var at *hunk
	for line := range strings.Lines(text) {
		value, isName := strings.CutPrefix(line, "+++ b/")
		switch {
		case isName:
			file, at = strings.TrimSpace(value), nil
		case strings.HasPrefix(line, "--- a/"), strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "index "):
			at = nil
		case strings.HasPrefix(line, "@@ "):
			m.hunks = append(m.hunks, hunk{file: file})
			at = &m.hunks[len(m.hunks)-1]
		case at != nil:
			err = at.add(line)
		case file == "":
			err = m.header(line)
		}
		if err != nil {
			return m, err
		}
	}
	if m.guard == "" || len(m.tests) == 0 || len(m.hunks) == 0 {
		return m, errors.New("a patch has a line Guard, a line Test or Long, and a diff")
	}
	return m, nil
}

func (m *mutant) header(line string) error {
	name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
	switch name {
	case "":
	case "Guard":
		m.guard = value
	case "Test", "Long":
		pkg, test, ok := strings.Cut(value, " ")
		if !ok {
			return fmt.Errorf("a test is ./package Name, not %q", value)
		}
		m.tests = append(m.tests, target{pkg, test, name == "Long"})
	case "Hangs":
		m.hang = value == "yes"
	default:
		return fmt.Errorf("a header has no line %q", line)
	}
	return nil
}

func (h *hunk) add(line string) error {
	switch line[0] {
	case ' ':
		h.old, h.replacement = h.old+line[1:], h.replacement+line[1:]
	case '\n': // an empty line whose blank was trimmed
		h.old, h.replacement = h.old+line, h.replacement+line
	case '-':
		h.old += line[1:]
	case '+':
		h.replacement += line[1:]
	default:
		return fmt.Errorf("a diff has no line %q", line)
	}
	return nil
}

// apply returns the patched text of each file.
func (m mutant) apply() (map[string]string, error) {
	texts := map[string]string{}
	for _, h := range m.hunks {
		text, ok := texts[h.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, h.file)) // a file of this module
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if n := strings.Count("\n"+text, "\n"+h.old); n != 1 {
			return nil, fmt.Errorf("%s has this %d times, and not once:\n%s", h.file, n, h.old)
		}
		texts[h.file] = strings.Replace("\n"+text, "\n"+h.old, "\n"+h.replacement, 1)[1:]
	}
	return texts, nil
}
