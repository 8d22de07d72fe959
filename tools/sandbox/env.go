package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// allowed are the variables of the gateway that programs get (H01). No other does, so no
// key or token of the gateway is among them (H03).
var allowed = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR", "TZ"}

// Variables returns the names of the variables that every program gets from the gateway's
// environment, if they are set there.
func Variables() []string { return slices.Clone(allowed) }

// standardPath is where programs are looked up if there is no PATH.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Path returns where programs are looked up inside: as PATH of the gateway's environment says, or
// in the usual folders.
func (c Config) Path() string {
	if path, ok := c.Defaults().Getenv("PATH"); ok {
		return path
	}
	return standardPath
}

// environment returns what a program gets: the allowed variables that are set, with the
// values of inside in their place, and declared on top (H02).
func environment(getenv func(string) (string, bool), inside map[string]string, declared []string) []string {
	var names []string
	values := map[string]string{}
	set := func(name, value string) {
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] = value
	}
	for _, name := range allowed {
		value, ok := getenv(name)
		if !ok {
			continue
		}
		if name == "PATH" {
			value = absolute(value)
		}
		if v, ok := inside[name]; ok {
			value = v
		}
		set(name, value)
	}
	for _, v := range declared {
		name, value, _ := strings.Cut(v, "=")
		set(name, value)
	}
	env := make([]string, 0, len(names))
	for _, name := range names {
		env = append(env, name+"="+values[name])
	}
	return env
}

// absolute is path without entries that depend on the working directory, which is the
// workspace, and without the workspace: nobody who writes there names programs.
func absolute(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !below(dir, Workspace) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, ":")
}
