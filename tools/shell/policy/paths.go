package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/secrets"
	"parley/tools/trusted"
)

// Paths outside the roots.
var (
	// secretNames are files and folders that hold keys, wherever they lie.
	secretNames = splitNames(secrets.Names())
	// secretPaths are out of reach with all below them.
	secretPaths = append(secrets.Paths(), "/root", "/run/docker.sock", "/var/run/docker.sock", "/boot")
	// publicPaths hold what every machine has.
	publicPaths = []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/os-release", "/etc/debian_version", "/etc/hosts", "/etc/hostname", "/etc/localtime", "/etc/mime.types",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/stat", "/proc/filesystems",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty",
	}
	// sinks may be written to, and nothing is changed.
	sinks = []string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full"}
)

// where is the place of a path.
type where struct {
	abs     string // cleaned, with marks
	unknown bool   // it may lie anywhere
	root    string // the root in which it lies; "": in none
}

// locate finds out where a path leads.
func (j *judge) locate(text string) where {
	climbs := slices.Contains(strings.Split(text, "/"), "..")
	switch {
	case strings.HasPrefix(text, markAny), strings.HasPrefix(text, markHome):
		return where{abs: text, unknown: true}
	case climbs && strings.ContainsAny(text, marks):
		return where{abs: text, unknown: true}
	case !strings.HasPrefix(text, "/"):
		if climbs && j.facts.moves || j.place.Dir == "" {
			return where{abs: text, unknown: true}
		}
		text = j.place.Dir + "/" + text
	}
	w := where{abs: path.Clean(text)}
	for _, root := range j.place.Roots {
		if isWithin(root, w.abs) {
			w.root = root
			break
		}
	}
	return w
}

// isPublic reports whether a path leads to what every machine has. One that climbs out of
// what a pattern matches, such as /usr/*/../../etc, may lead anywhere.
func (w where) isPublic() bool {
	return !w.unknown && (isWithinAny(publicPaths, w.abs) || strings.HasPrefix(w.abs, "/dev/fd/"))
}

func isWithin(dir, abs string) bool {
	return abs == dir || strings.HasPrefix(abs, strings.TrimSuffix(dir, "/")+"/")
}

func isWithinAny(dirs []string, abs string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return isWithin(dir, abs) })
}

// secret judges a path by what must never be touched, and reports whether it found it.
func (j *judge) secret(a arg, w where, part syntax.Node) bool {
	names := strings.Split(a.text, "/")
	for i := range names {
		for _, s := range secretNames {
			if isNamed(names[i:], s, w.root != "") {
				j.raise(Deny, part, "%s holds keys and is out of reach", strings.Join(s, "/"))
				return true
			}
		}
	}
	for _, s := range j.policy.config.DeniedPaths {
		around := w.root != "" && isWithin(s, w.root) // the workspace lies below a denied folder
		if isWithin(s, w.abs) && !around || matchPath(w.abs, s) {
			j.raise(Deny, part, "%s is out of reach", show(a.text))
			return true
		}
	}
	if w.root != "" {
		return false
	}
	begin := w.abs
	if i := strings.IndexAny(begin, marks); i >= 0 {
		begin = begin[:i]
	}
	switch {
	case isNetwork(begin, strings.Contains(w.abs, markAny)):
		j.raise(Deny, part, "bash makes a network connection of %s", show(a.text))
	case w.isPublic():
		return false
	case isWithin("/dev", w.abs):
		j.raise(Deny, part, "%s is a device: it is out of reach", show(a.text))
	case isWithin("/proc", w.abs), strings.HasPrefix(begin, "/proc/"):
		j.raise(Deny, part, "%s shows the memory and the environment of processes: it is out of reach", show(a.text))
	case isWithinAny(secretPaths, w.abs), slices.ContainsFunc(secretPaths, func(s string) bool { return matchPath(w.abs, s) }):
		j.raise(Deny, part, "%s is out of reach", show(a.text))
	default:
		return false
	}
	return true
}

// splitNames splits names at their slashes.
func splitNames(names []string) (split [][]string) {
	for _, name := range names {
		split = append(split, strings.Split(name, "/"))
	}
	return split
}

// isNamed reports whether names begin with those of a secret. A pattern that matches
// everything is no name, and inside a root neither is one that matches what begins with a dot.
func isNamed(names, secret []string, inside bool) bool {
	if len(names) < len(secret) {
		return false
	}
	for i, s := range secret {
		name := names[i]
		bare := strings.Trim(name, marks)
		if bare == "" || strings.HasPrefix(name, markName) || inside && bare == "." || !match(name, s) {
			return false
		}
	}
	return true
}

// isNetwork reports whether a path that begins so is one of which bash makes a connection;
// open says that any text may follow.
func isNetwork(begin string, open bool) bool {
	for _, dir := range []string{"/dev/tcp/", "/dev/udp/"} {
		if strings.HasPrefix(begin, dir) || open && len(begin) >= len("/dev/") && strings.HasPrefix(dir, begin) {
			return true
		}
	}
	return false
}

// mention judges a text that may be a path, by what must never be touched.
func (j *judge) mention(a arg, part syntax.Node) {
	j.secret(a, j.locate(a.text), part)
}

// reads judges a path that is read.
func (j *judge) reads(a arg, part syntax.Node) {
	w := j.locate(a.text)
	if j.secret(a, w, part) || w.root != "" || w.isPublic() {
		return
	}
	if strings.HasPrefix(w.abs, markAny) && !j.policy.config.Exposed { // nothing is known: what is read stays inside the walls
		return
	}
	j.raise(Admin, part, "%s lies outside the workspace", show(a.text))
}

// writes judges a path that is written by what.
func (j *judge) writes(a arg, part syntax.Node, what string) {
	w := j.locate(a.text)
	switch text, known := a.lit(); {
	case known && (slices.Contains(sinks, path.Clean(text)) || strings.HasPrefix(text, "/dev/fd/") && text != "/dev/fd/0" && leading(text[8:], 3, "0123456789") == text[8:]):
		return
	case j.secret(a, w, part):
		return
	}
	switch {
	case w.root == "" && (isWithin("/dev", w.abs) || isWithin("/sys", w.abs) || isWithin("/proc", w.abs)):
		j.raise(Deny, part, "%s is a device or belongs to the kernel: %s cannot write it", show(a.text), what)
	case strings.Contains(a.text, markAny) || w.unknown && !strings.HasPrefix(a.text, markHome):
		j.raise(Admin, part, "%s writes where is only known at run time", what)
	case w.root == "":
		j.raise(Admin, part, "%s writes %s, which lies outside the workspace", what, show(a.text))
	case isTrusted(w, j.policy.config.Trusted):
		j.raise(Admin, part, "%s writes %s, which other programs trust later", what, show(a.text))
	default:
		j.raise(Write, part, "%s writes %s", what, show(a.text))
	}
}

// isTrusted reports whether a place below a root is one that something else believes.
func isTrusted(w where, more []string) bool {
	rel := strings.TrimPrefix(w.abs, w.root)
	return trusted.Includes(strings.NewReplacer(markAny, "", markName, "", markHome, "").Replace(rel), more) || globsTrusted(rel, more)
}

// globsTrusted reports whether a pattern may match a name that something believes. A
// pattern does not match the dot at the beginning of a name.
func globsTrusted(rel string, more []string) bool {
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(rel), "/") {
		switch {
		case !strings.ContainsAny(name, marks):
		case strings.HasPrefix(name, "."):
			return true
		case names == nil:
			names = append(trusted.Names(), more...)
			fallthrough
		default:
			if slices.ContainsFunc(names, func(s string) bool { return s[0] != '.' && match(name, strings.ToLower(s)) }) {
				return true
			}
		}
	}
	return false
}

// match reports whether a name with marks may be s.
func match(name, s string) bool {
	if !strings.ContainsAny(name, marks) {
		return name == s
	}
	if strings.Trim(name, marks) == "" {
		return true
	}
	pieces := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(marks, r) })
	rest := s
	for i, p := range pieces {
		at := strings.Index(rest, p)
		if at < 0 || i == 0 && at > 0 && !strings.ContainsAny(name[:1], marks) {
			return false
		}
		rest = rest[at+len(p):]
	}
	return rest == "" || strings.ContainsAny(name[len(name)-1:], marks) || strings.HasSuffix(s, pieces[len(pieces)-1])
}

// matchPath reports whether an absolute path with marks may be s or lie below it.
func matchPath(abs, s string) bool {
	if !strings.HasPrefix(abs, "/") || !strings.ContainsAny(abs, marks) {
		return false
	}
	if strings.Contains(abs, markAny) {
		return match(abs, s)
	}
	have, want := strings.Split(abs, "/"), strings.Split(s, "/")
	if len(have) < len(want) {
		return false
	}
	for i, name := range want {
		if have[i] != markName && !match(have[i], name) {
			return false
		}
	}
	return true
}

// show returns a text with marks as a person reads it.
func show(text string) string {
	return shorten(strings.NewReplacer(markAny, "…", markName, "*", markHome, "~").Replace(text))
}
