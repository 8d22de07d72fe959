package commandline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/problems"
	"parley/tools"
	"parley/tools/programs"
)

var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// Limits of a description.
const (
	maxDescription = 1024 // characters; what providers take
	maxOutput      = 10 << 20
)

// Validate reports every mistake in the descriptions of a list, as a problems.List with paths
// as tools[0].parameters.name.pattern, where list is tools. taken are names that other tools
// have. It opens no file.
func Validate(list string, specs []Spec, taken ...string) error {
	var ps problems.List
	for i, s := range specs {
		at := fmt.Sprintf("%s[%d]", list, i)
		s.validate(&ps, at)
		switch first := slices.Index(Names(specs), s.Name); {
		case s.Name == "":
		case slices.Contains(taken, s.Name):
			ps.Add(at+".name", "%s is a built-in tool: choose another name", s.Name)
		case first < i:
			ps.Add(at+".name", "%s is the name of tool %d of this list too: choose another name", s.Name, first+1)
		}
	}
	return ps.Err()
}

func (s Spec) validate(ps *problems.List, at string) {
	switch {
	case s.Name == "":
		ps.Add(at+".name", "%w: what the model calls the tool by", problems.ErrRequired)
	case !toolName.MatchString(s.Name):
		ps.Add(at+".name", "%q: a name is a letter, and up to 63 letters, digits, _ and -", s.Name)
	}
	switch n := utf8.RuneCountInString(s.Description); {
	case strings.TrimSpace(s.Description) == "":
		ps.Add(at+".description", "%w: what the tool does and when to use it, for the model", problems.ErrRequired)
	case n > maxDescription:
		ps.Add(at+".description", "%d characters; at most %d", n, maxDescription)
	}
	switch s.Category {
	case tools.Read, tools.Write, tools.Admin:
	case "":
		ps.Add(at+".category", "%w: read (changes nothing), write (changes something), or admin (a person decides each time)", problems.ErrRequired)
	default:
		ps.Add(at+".category", "%q is none of read, write, admin%s", s.Category, tools.Suggest(string(s.Category), []string{"read", "write", "admin"}))
	}
	if s.Cmd == "" {
		ps.Add(at+".cmd", "%w: the program that runs, by its name or its absolute path", problems.ErrRequired)
	}
	if s.Timeout < 0 {
		ps.Add(at+".timeout", "%s is less than nothing", s.Timeout)
	}
	_, err := tools.ParsePrice(s.Price)
	ps.Check(at+".price", err)
	if s.Output != 0 && (s.Output < programs.MinOutput || s.Output > maxOutput) {
		ps.Add(at+".output", "%d bytes: from %d to %d", s.Output, programs.MinOutput, maxOutput)
	}
	s.validateParameters(ps, at)
	s.validateArgs(ps, at)
	s.validateSurroundings(ps, at)
}

// validateSurroundings reports the mistakes in what the program finds around itself.
func (s Spec) validateSurroundings(ps *problems.List, at string) {
	s.Network.Check(ps, at, s.AllowPrivate)
	for _, v := range s.Env {
		ps.Check(at+".env."+v.Name, v.Check())
	}
	for i, p := range s.ReadOnly {
		ps.Check(fmt.Sprintf("%s.read_only[%d]", at, i), programs.CheckReadOnly(p))
	}
}

func (s Spec) validateParameters(ps *problems.List, at string) {
	for _, p := range s.Parameters {
		where := at + ".parameters." + p.Name
		if !parameterName.MatchString(p.Name) {
			ps.Add(where, "a parameter's name is letters, digits and _, at most 64, and begins with no digit")
		}
		switch {
		case p.Type == "":
			ps.Add(where+".type", "%w: one of %s", problems.ErrRequired, strings.Join(Types(), ", "))
		case !slices.Contains(Types(), p.Type):
			ps.Add(where+".type", "%q is none of %s%s", p.Type, strings.Join(Types(), ", "), tools.Suggest(p.Type, Types()))
		default:
			p.validateBounds(ps, where)
			s.validateDashes(ps, where, p)
		}
	}
}

// validateDashes reports words of enum that are never taken, because they begin as an option
// does.
func (s Spec) validateDashes(ps *problems.List, at string, p Parameter) {
	for i, word := range p.Enum {
		if strings.HasPrefix(word, "-") && !p.AllowDash && s.begins(p.Name) {
			ps.Add(fmt.Sprintf("%s.enum[%d]", at, i), "%q is never taken, because the program would take it for an option: write allow_dash: true at the parameter if that is meant", word)
		}
	}
}

// validateBounds reports bounds that are of another type, or that nothing fits.
func (p Parameter) validateBounds(ps *problems.List, at string) {
	of := func(key, wants string, given bool) {
		if given {
			ps.Add(at+"."+key, "is for %s, and the type is %s", wants, p.Type)
		}
	}
	if p.Type != String {
		of("enum", "strings", p.Enum != nil)
		of("pattern", "strings", p.Pattern != "")
		of("minLength", "strings", p.MinLength != nil)
		of("maxLength", "strings", p.MaxLength != nil)
	}
	if p.Type != Integer && p.Type != Number {
		of("minimum", "numbers", p.Minimum != nil)
		of("maximum", "numbers", p.Maximum != nil)
	}
	if p.Minimum != nil && p.Maximum != nil && *p.Minimum > *p.Maximum {
		ps.Add(at+".maximum", "%v is less than minimum, %v: no value fits", *p.Maximum, *p.Minimum)
	}
	if p.Type != String {
		return
	}
	least, most := 1, DefaultMaxLength
	if p.MinLength != nil {
		least = *p.MinLength
	}
	if p.MaxLength != nil {
		most = *p.MaxLength
	}
	switch {
	case least < 0:
		ps.Add(at+".minLength", "%d is less than nothing", least)
	case most > mostLength:
		ps.Add(at+".maxLength", "%d: at most %d, because an argument has at most 128 KiB", most, mostLength)
	case most < least:
		ps.Add(at+".maxLength", "%d is less than minLength, which is %d: no value fits", most, least)
	}
	p.validateTexts(ps, at)
}

// validateTexts reports a pattern that is none, and words of enum that are never taken.
func (p Parameter) validateTexts(ps *problems.List, at string) {
	var whole *regexp.Regexp
	if p.Pattern != "" {
		text, err := anchorPattern(p.Pattern)
		if err != nil {
			ps.Add(at+".pattern", "%w", err)
			return
		}
		whole = regexp.MustCompile(text)
	}
	if p.Enum != nil && len(p.Enum) == 0 {
		ps.Add(at+".enum", "an empty list takes no value")
	}
	for i, word := range p.Enum {
		where := fmt.Sprintf("%s.enum[%d]", at, i)
		if err := p.check(word); err != nil {
			ps.Add(where, "%q is never taken: %w", word, err)
		} else if whole != nil && !whole.MatchString(word) {
			ps.Add(where, "%q is never taken: it does not match the pattern", word)
		}
		if slices.Contains(p.Enum[:i], word) {
			ps.Add(where, "%q stands there twice", word)
		}
	}
}
