// Package problems is what is wrong with a configuration: mistakes, each with the path of
// the value that it is about.
package problems

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRequired is the kind of a problem with a value that is missing. Texts begin with it,
// by "%w".
var ErrRequired = errors.New("required")

// Problem is a mistake in the value at a path, as people[0] or providers.main.api_key; the
// empty path is the whole of what was looked at.
type Problem struct {
	Path string
	Err  error
}

// At makes a Problem.
func At(path, format string, args ...any) error {
	return Problem{path, fmt.Errorf(format, args...)} // the text is for the operator
}

func (p Problem) Error() string {
	if p.Path == "" {
		return p.Err.Error()
	}
	return p.Path + ": " + p.Err.Error()
}

func (p Problem) Unwrap() error { return p.Err }

// List is several problems. The zero List is none.
type List []Problem

// Add notes a mistake in the value at path.
func (l *List) Add(path, format string, args ...any) { l.Check("", At(path, format, args...)) }

// Check notes err, of what stands at path: each of its problems below path, if it is
// made of some, nothing if it is nil.
func (l *List) Check(path string, err error) {
	switch e := err.(type) { //nolint:errorlint // what wraps problems says something of its own
	case nil:
	case List:
		for _, p := range e {
			*l = append(*l, Problem{join(path, p.Path), p.Err})
		}
	case Problem:
		*l = append(*l, Problem{join(path, e.Path), e.Err})
	default:
		*l = append(*l, Problem{path, err})
	}
}

// Err returns the list as an error, or nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error returns the problems, one on each line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap is for [errors.Is].
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, p := range l {
		errs[i] = p
	}
	return errs
}

func join(path, below string) string {
	if path == "" || below == "" {
		return path + below
	}
	return path + "." + below
}
