package configs

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/gateway/settings"
	"parley/problems"
	"parley/tools/commandline"
	"parley/tools/programs"
	"parley/tools/sandbox"
)

// LoadTools reads a file of command-line tools by itself, as tools.file of a configuration is
// read: its form, what the tools need of the environment, and the programs that they run. The
// error, if any, is an *Error with every mistake.
func LoadTools(file string, lookup func(string) (string, bool)) ([]commandline.Spec, error) {
	f, err := openTools(file, lookup)
	if err != nil {
		return nil, &Error{File: file, Mistakes: []Mistake{{Message: withoutPath(err)}}}
	}
	f.find()
	var all problems.List
	all.Check("", commandline.Validate("tools", f.specs, settings.BuiltinNames()...))
	for _, p := range all {
		f.d.addProblem(p)
	}
	if report := f.d.report(file); len(report.Mistakes) > 0 {
		return nil, report
	}
	return f.specs, nil
}

// toolsFile is a file of command-line tools while it is read. A nil one has no mistakes.
type toolsFile struct {
	name  string
	d     *decoder
	specs []commandline.Spec
}

// env are the paths of values in which variables are put: nowhere else in the file is there a
// use for one, and patterns and programs have dollar signs of their own.
var env = regexp.MustCompile(`^tools\[\d+\]\.env\.`)

// openTools reads the form of a file.
func openTools(file string, lookup func(string) (string, bool)) (*toolsFile, error) {
	data, mode, err := readLimited(file, maxSize)
	if err != nil {
		return nil, err
	}
	f := &toolsFile{name: file, d: newDecoder(filepath.Dir(file), mode, lookup)}
	f.d.literal = func(path string) bool { return !env.MatchString(path) }
	var content struct {
		Tools []commandline.Spec `yaml:"tools"`
	}
	root := f.d.parseDocument(data)
	if root != nil {
		f.d.decodeValue(valueOf(&content), root, "")
	}
	if _, given := f.d.positions["tools"]; !given && len(f.d.mistakes) == 0 {
		f.d.addMistake(position{}, "tools", "required: the list of tools")
	}
	f.specs = content.Tools
	for i := range f.specs {
		f.complete(i)
	}
	for _, path := range f.d.zeros {
		if key := lastKey(path); key == "timeout" || key == "output" {
			f.d.addMistake(f.d.positions[path], path, "0 cannot be said here; without this line it is the default")
		}
	}
	return f, nil
}

// complete makes the paths of a tool absolute, and notes what of its environment is secret.
func (f *toolsFile) complete(i int) {
	s, at := &f.specs[i], fmt.Sprintf("tools[%d]", i)
	if strings.Contains(s.Cmd, "/") {
		s.Cmd = f.d.absolutePath(s.Cmd)
	}
	for n, path := range s.ReadOnly {
		s.ReadOnly[n] = f.d.absolutePath(path)
	}
	f.d.noteSecrets(at+".env", s.Env)
}

// noteSecrets notes what of the variables that stand at a path is secret: what came from the
// environment, or from a file.
func (d *decoder) noteSecrets(at string, vs []programs.Variable) {
	for n, path := range d.entries[at] {
		e := d.values[path]
		if e.empty != "" {
			d.addMistake(d.positions[path], path, fmt.Sprintf("variable %s is set, but empty; write ${%s:-} if the tool may do without", e.empty, e.empty))
		}
		for _, text := range e.substituted {
			if !slices.Contains(e.defaults, text) && !d.everybodys(text) {
				vs[n].Secrets = append(vs[n].Secrets, text)
				d.addSecret(text)
			}
		}
	}
}

// refuseHiddenEnvironment reports the variables of scripts whose values come from elsewhere, as
// secrets do.
func (d *decoder) refuseHiddenEnvironment(cfg *settings.Config) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Bash.Environment)) {
		path := "bash.environment." + name
		if len(d.values[path].substituted) > 0 {
			d.addMistake(d.positions[path], path, "write the value itself: what scripts see the model reads, so nothing of the gateway's environment or of a file is put in here")
		}
	}
}

// everybodys reports whether a text is the value of a variable that every program gets: that
// is no secret, and too common a text to be taken out of others.
func (d *decoder) everybodys(text string) bool {
	return slices.ContainsFunc(sandbox.Variables(), func(name string) bool {
		v, ok := d.lookup(name)
		return ok && v == text
	})
}

// find looks for the programs of the tools, and for what they are to read.
func (f *toolsFile) find() {
	path, _ := f.d.lookup("PATH")
	for i := range f.specs {
		s, at := &f.specs[i], fmt.Sprintf("tools[%d]", i)
		if s.Cmd != "" {
			var err error
			if s.Program, err = programs.FindProgram(s.Cmd, path); err != nil {
				f.d.addMistake(f.d.positions[at+".cmd"], at+".cmd", err.Error())
			}
		}
		for n, file := range s.ReadOnly {
			if err := programs.LookReadOnly(file); err != nil {
				where := fmt.Sprintf("%s.read_only[%d]", at, n)
				f.d.addMistake(f.d.positions[where], where, fmt.Sprintf("%s: %s", file, withoutPath(err)))
			}
		}
	}
}

// take reports whether a problem of the configuration is one of this file, and notes it.
func (f *toolsFile) take(p problems.Problem) bool {
	rest, ok := strings.CutPrefix(p.Path, settings.CommandsPath)
	if f == nil || !ok {
		return false
	}
	f.d.addProblem(problems.Problem{Path: "tools" + rest, Err: p.Err})
	return true
}

func (f *toolsFile) mistakes() []Mistake {
	if f == nil {
		return nil
	}
	all := f.d.report(f.name).Mistakes
	for i := range all {
		all[i].File = f.name
	}
	return all
}

// readTools reads the file of command-line tools that cfg names; nil: none, or none that can be
// read.
func (d *decoder) readTools(cfg *settings.Config) *toolsFile {
	if cfg.Tools.File == "" {
		return nil
	}
	f, err := openTools(cfg.Tools.File, d.lookup)
	if err != nil {
		d.addMistake(d.positions["tools.file"], "tools.file", fmt.Sprintf("%s: %s", cfg.Tools.File, withoutPath(err)))
		cfg.Tools.Unread = true
		return nil
	}
	if cfg.HasRole(settings.RoleWorker) {
		f.find()
	}
	cfg.Tools.Commands, cfg.Tools.Unread = f.specs, f.d.broken
	cfg.ReadFrom = append(cfg.ReadFrom, f.d.allReadFrom(f.name)...)
	return f
}
