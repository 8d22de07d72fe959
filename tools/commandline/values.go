package commandline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/tools"
)

// command is the templates of a Spec, parsed.
type command struct {
	spec     Spec
	args     []template
	optional [][]template // as Spec.OptionalArgs
}

// parse parses the templates of s, which is valid.
func (s Spec) parse() (command, error) {
	c := command{spec: s}
	all := func(args []string) (ts []template, err error) {
		for _, a := range args {
			t, err := parseTemplate(a)
			if err != nil {
				return nil, fmt.Errorf("argument %q: %w", a, err)
			}
			ts = append(ts, t)
		}
		return ts, nil
	}
	var err error
	if c.args, err = all(s.Args); err != nil {
		return c, err
	}
	for _, o := range s.OptionalArgs {
		ts, err := all(o.Args)
		if err != nil {
			return c, err
		}
		c.optional = append(c.optional, ts)
	}
	return c, nil
}

// arguments returns the arguments of a call whose values fit the schema, or what no schema can
// say against them, in a sentence for the model. (G03, G04, G05)
func (c command) arguments(a tools.Arguments) ([]string, error) {
	given := map[string]bool{}
	for _, p := range c.spec.Parameters {
		if _, given[p.Name] = a.Field(p.Name); !given[p.Name] {
			continue
		}
		if err := p.check(a.Text(p.Name)); err != nil {
			return nil, err
		}
	}
	args := []string{} // never nil: it is shown as a list
	fill := func(ts []template) error {
		for _, t := range ts {
			arg, began := t.fill(a.Text)
			if p, _ := c.spec.parameter(began); strings.HasPrefix(arg, "-") && began != "" && !p.AllowDash {
				return fmt.Errorf("%q must not begin with \"-\": the program would take it for an option", began)
			}
			args = append(args, arg)
		}
		return nil
	}
	if err := fill(c.args); err != nil {
		return nil, err
	}
	for i, o := range c.spec.OptionalArgs {
		if p, _ := c.spec.parameter(o.Parameter); !given[o.Parameter] || p.Type == Boolean && a.Text(o.Parameter) != "true" {
			continue
		}
		if err := fill(c.optional[i]); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// check holds a value to what the schema does not say: that a string has characters, not too
// many, and none that a terminal or a program obeys.
func (p Parameter) check(value string) error {
	if p.Type != String {
		return nil
	}
	least, most := 1, DefaultMaxLength
	if p.MinLength != nil {
		least = *p.MinLength
	}
	if p.MaxLength != nil {
		most = *p.MaxLength
	}
	n := utf8.RuneCountInString(value)
	switch {
	case n < least && n == 0:
		return fmt.Errorf("%q must not be empty", p.Name)
	case n < least:
		return fmt.Errorf("%q must have at least %d characters, not %d", p.Name, least, n)
	case n > most:
		return fmt.Errorf("%q must have at most %d characters, not %d", p.Name, most, n)
	}
	for _, r := range value {
		if isControl(r) {
			return fmt.Errorf("%q must not hold the character %U, which is a control character", p.Name, r)
		}
	}
	return nil
}

// isControl reports whether r ends lines, moves what is shown, or is otherwise no letter to be
// seen, such as NUL.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
