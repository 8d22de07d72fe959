package commandline

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"parley/problems"
	"parley/tools"
)

// validateArgs reports the mistakes in the arguments: places for no parameter, parameters
// without a place, and values that would become code.
func (s Spec) validateArgs(ps *problems.List, at string) {
	used := map[string]bool{}
	s.validateTemplates(ps, at+".args", s.Args, used, "")
	s.validateCode(ps, at+".args", s.Args)
	for _, o := range s.OptionalArgs {
		where := at + ".optional_args." + o.Parameter
		p, known := s.parameter(o.Parameter)
		switch {
		case !known:
			ps.Add(where, "there is no parameter %s%s", o.Parameter, s.suggestParameter(o.Parameter))
		case !p.Optional:
			ps.Add(where, "%s is always given, because it is not optional: write optional: true at the parameter, or move this to args", o.Parameter)
		}
		if len(o.Args) == 0 {
			ps.Add(where, "%w: the arguments that are appended when %s is given", problems.ErrRequired, o.Parameter)
		}
		own := map[string]bool{}
		s.validateTemplates(ps, where, o.Args, own, o.Parameter)
		s.validateCode(ps, where, o.Args)
		if known && p.Type != Boolean && len(o.Args) > 0 && !own[o.Parameter] {
			ps.Add(where, "the value of %s is not used here: write {{%s}} where it belongs", o.Parameter, o.Parameter)
		}
		used[o.Parameter] = true
	}
	for _, p := range s.Parameters {
		switch {
		case used[p.Name]:
		case p.Optional:
			ps.Add(at+".parameters."+p.Name, "is not used: write optional_args: {%s: [\"{{%s}}\"]}, or remove it", p.Name, p.Name)
		default:
			ps.Add(at+".parameters."+p.Name, "is not used: write {{%s}} in args, or remove it", p.Name)
		}
	}
}

// validateTemplates reports the mistakes in arguments, and notes the parameters in them. own is
// the optional parameter for which they are; "": they are always there.
func (s Spec) validateTemplates(ps *problems.List, at string, args []string, used map[string]bool, own string) {
	for i, arg := range args {
		where := fmt.Sprintf("%s[%d]", at, i)
		t, err := parseTemplate(arg)
		if err != nil {
			ps.Add(where, "%w", err)
			continue
		}
		if strings.Contains(arg, "${") && len(s.codeFlags()) == 0 {
			ps.Add(where, "variables of the environment are put in below env only; the program finds them there")
		}
		for _, name := range t.names() {
			used[name] = true
			switch p, known := s.parameter(name); {
			case !known:
				ps.Add(where, "there is no parameter %s%s", name, s.suggestParameter(name))
			case p.Optional && name != own:
				ps.Add(where, "%s is optional, and an argument cannot do without it: move it to optional_args, below %s", name, name)
			}
		}
	}
}

// begins reports whether the value of a parameter begins an argument.
func (s Spec) begins(parameter string) bool {
	lists := [][]string{s.Args}
	for _, o := range s.OptionalArgs {
		lists = append(lists, o.Args)
	}
	return slices.ContainsFunc(slices.Concat(lists...), func(arg string) bool {
		t, err := parseTemplate(arg)
		return err == nil && len(t) > 0 && t[0].name == parameter
	})
}

func (s Spec) suggestParameter(name string) string {
	names := s.parameterNames()
	if near := tools.Suggest(name, names); near != "" {
		return near
	}
	if len(names) == 0 {
		return "; the tool has none"
	}
	return "; there are " + strings.Join(names, ", ")
}

// interpreters are programs that take code as an argument, with the options before it.
var interpreters = map[string][]string{
	"sh": {"-c"}, "bash": {"-c"}, "dash": {"-c"}, "ash": {"-c"}, "zsh": {"-c"}, "ksh": {"-c"}, "mksh": {"-c"}, "fish": {"-c", "--command"},
	"busybox": {"-c"}, "python": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "node": {"-e", "--eval", "-p", "--print"}, "php": {"-r"}, "lua": {"-e"},
}

var versionSuffix = regexp.MustCompile(`[0-9.]+$`)

// codeFlags returns the options behind which the program takes code; none: it is no
// interpreter that is known.
func (s Spec) codeFlags() []string {
	return interpreters[versionSuffix.ReplaceAllString(path.Base(s.Cmd), "")]
}

// validateCode reports a value that would be put into code: there, no check of a value keeps
// it from being code of its own. (G02, G03)
func (s Spec) validateCode(ps *problems.List, at string, args []string) {
	flags := s.codeFlags()
	for i := range args {
		t, err := parseTemplate(args[i])
		if err != nil || len(t.names()) == 0 {
			continue
		}
		if i > 0 && isCodeFlag(flags, args[i-1]) || slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(args[i], f) }) {
			ps.Add(fmt.Sprintf("%s[%d]", at, i),
				"{{%s}} would become code of %s: let the code read its own arguments, as in [-c, 'echo \"$1\"', name, \"{{%s}}\"]", t.names()[0], path.Base(s.Cmd), t.names()[0])
		}
	}
}

// isCodeFlag reports whether arg is one of flags, or one letter of them among others: bash -ec.
func isCodeFlag(flags []string, arg string) bool {
	return slices.ContainsFunc(flags, func(f string) bool {
		letters, short := strings.CutPrefix(arg, "-")
		return arg == f || short && !strings.HasPrefix(letters, "-") && len(f) == 2 && strings.HasSuffix(letters, f[1:])
	})
}
