package commandline

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// template is one argument, with places for values.
type template []piece

// piece is either text or the name of a parameter.
type piece struct {
	text string
	name string
}

const (
	opening = "{{"
	closing = "}}"
)

var parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

var errOpenPlace = errors.New("{{ without its }}; write {{{{ for two braces themselves")

// parseTemplate reads an argument. (G03)
func parseTemplate(s string) (template, error) {
	var t template
	text := func(s string) {
		if s == "" {
			return
		}
		if n := len(t); n > 0 && t[n-1].name == "" {
			t[n-1].text += s
			return
		}
		t = append(t, piece{text: s})
	}
	for {
		before, rest, more := strings.Cut(s, opening)
		text(before)
		if !more {
			return t, nil
		}
		if after, escaped := strings.CutPrefix(rest, opening); escaped {
			text(opening)
			s = after
			continue
		}
		inside, after, closed := strings.Cut(rest, closing)
		if !closed {
			return nil, errOpenPlace
		}
		name := strings.TrimSpace(inside)
		if !parameterName.MatchString(name) {
			return nil, fmt.Errorf("{{%s}} is no place for a parameter: between {{ and }} belongs its name; write {{{{ for two braces themselves", inside)
		}
		t = append(t, piece{name: name})
		s = after
	}
}

// names returns the parameters that have a place in t.
func (t template) names() (all []string) {
	for _, p := range t {
		if p.name != "" {
			all = append(all, p.name)
		}
	}
	return all
}

// fill puts values in, and returns the argument. began is the parameter whose value is at the
// beginning of the argument; "" where text of the operator's is.
func (t template) fill(value func(name string) string) (arg, began string) {
	for _, p := range t {
		text := p.text
		if p.name != "" {
			text = value(p.name)
		}
		if arg == "" && text != "" {
			began = p.name
		}
		arg += text
	}
	return arg, began
}
