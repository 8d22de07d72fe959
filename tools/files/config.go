package files

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/problems"
)

// Config sets what the file tools may reach. The workspace of the session is
// always a root; it comes with each call. The zero Config is the workspace and
// nothing else.
type Config struct {
	// Denied are absolute paths that are out of reach with everything below
	// them, also inside a root. Denied wins. They are added to those that are always out of
	// reach in extra roots: what package secrets knows, /proc, and Private.
	Denied []string `yaml:"denied"`
	// Private are absolute paths of what the gateway has for itself, such as its state and
	// its configuration. In extra roots they are out of reach. No operator says them.
	Private []string
	// ExtraRoots are absolute paths of further folders that every session may
	// read. A root that is not there is out of reach.
	ExtraRoots []string `yaml:"extra_roots"`
	// WritableRoots are absolute paths of further folders that every session may read and change.
	// Denied, and what is always out of reach in extra roots, wins here too.
	WritableRoots []string `yaml:"writable_roots"`
	// Trusted are further names of files and folders that something outside the
	// session believes, such as the file that a memory is kept in. Upper and
	// lower case are the same. Writing them, or anything below them, is of
	// category Admin.
	Trusted []string `yaml:"trusted"`
	// AllowHardlinks lets files with several names be read. Such a file may be
	// a file from outside under another name, so it is off by default; trees of
	// package managers need it.
	AllowHardlinks bool `yaml:"allow_hardlinks"`
	// MaxBytes is how much of a file one call shows; 0: DefaultMaxBytes.
	MaxBytes int64 `yaml:"max_bytes"`
	// MaxWrite is how many bytes a file may have that write_file or edit_file
	// leaves; 0: DefaultMaxWrite.
	MaxWrite int64 `yaml:"max_write"`
	// MaxSend is how many bytes a file may have that send_file sends; 0:
	// DefaultMaxSend. A network may take less.
	MaxSend int64 `yaml:"max_send"`
	// MaxSends is how many files one turn may send; 0: DefaultMaxSends.
	MaxSends int `yaml:"max_sends"`
	// SearchTime is how long one search looks; what it found until then is its
	// answer. 0: DefaultSearchTime.
	SearchTime time.Duration `yaml:"search_time"`
}

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	c.MaxBytes = cmp.Or(c.MaxBytes, DefaultMaxBytes)
	c.MaxWrite = cmp.Or(c.MaxWrite, DefaultMaxWrite)
	c.MaxSend = cmp.Or(c.MaxSend, DefaultMaxSend)
	c.MaxSends = cmp.Or(c.MaxSends, DefaultMaxSends)
	c.SearchTime = cmp.Or(c.SearchTime, DefaultSearchTime)
	return c
}

// RootList is one of the lists of further roots, with its key in the configuration.
type RootList struct {
	Key   string
	Paths []string
}

// Roots returns the lists of further roots.
func (c Config) Roots() []RootList {
	return []RootList{{"extra_roots", c.ExtraRoots}, {"writable_roots", c.WritableRoots}}
}

// wideRoots hold what belongs to the whole machine, or to all its users.
var wideRoots = []string{"/boot", "/dev", "/etc", "/home", "/mnt", "/opt", "/root", "/run", "/sys", "/tmp", "/usr", "/var", "/Users"}

// WideRoots returns the indexes of those ExtraRoots that hold far more than one subject:
// folders of the whole machine, and home folders, as they are written or as their links lead
// at present. home is that of the user of this process; "": not known.
func (c Config) WideRoots(home string) []int { return wideAmong(c.ExtraRoots, home) }

// WideWritableRoots is WideRoots of the WritableRoots.
func (c Config) WideWritableRoots(home string) []int { return wideAmong(c.WritableRoots, home) }

func wideAmong(roots []string, home string) (wide []int) {
	for i, root := range roots {
		isWide := func(dir string) bool {
			return slices.Contains(wideRoots, dir) || slices.Contains([]string{"/home", "/Users"}, filepath.Dir(dir)) ||
				filepath.IsAbs(home) && isWithin(dir, filepath.Clean(home))
		}
		if slices.ContainsFunc(resolveLinks([]string{filepath.Clean(root)}), isWide) {
			wide = append(wide, i)
		}
	}
	return wide
}

// Validate reports what is wrong with c: a problems.List, with paths as denied[0].
func (c Config) Validate() error {
	var ps problems.List
	for i, p := range c.Denied {
		if !filepath.IsAbs(p) {
			ps.Add(fmt.Sprintf("denied[%d]", i), "%q is not an absolute path", p)
		}
	}
	for _, list := range c.Roots() {
		list.check(&ps)
	}
	for i, p := range c.ExtraRoots {
		for j, all := range c.WritableRoots {
			if filepath.IsAbs(p) && isWithin(filepath.Clean(all), filepath.Clean(p)) {
				ps.Add(fmt.Sprintf("extra_roots[%d]", i), "%s lies in writable_roots[%d], %s, where everything may be changed; remove one of them", p, j, all)
			}
		}
	}
	for i, name := range c.Trusted {
		if name == "" || strings.Contains(name, "/") {
			ps.Add(fmt.Sprintf("trusted[%d]", i), "%q is not the name of a file or folder, without a path", name)
		}
	}
	if c.MaxBytes < 0 || c.MaxBytes > DefaultMaxBytes {
		ps.Add("max_bytes", "%d is not 1 to %d, which is what one answer of a tool holds", c.MaxBytes, DefaultMaxBytes)
	}
	if c.MaxWrite < 0 {
		ps.Add("max_write", "%d is negative", c.MaxWrite)
	}
	if c.MaxSend < 0 {
		ps.Add("max_send", "%d is negative", c.MaxSend)
	}
	if c.MaxSends < 0 {
		ps.Add("max_sends", "%d is negative; an agent whose tools do not include %s sends none", c.MaxSends, SendName)
	}
	if c.SearchTime < 0 {
		ps.Add("search_time", "%s is negative", c.SearchTime)
	}
	return ps.Err()
}

// check adds to ps what is wrong with the roots.
func (l RootList) check(ps *problems.List) {
	for i, p := range l.Paths {
		path := fmt.Sprintf("%s[%d]", l.Key, i)
		switch {
		case !filepath.IsAbs(p):
			ps.Add(path, "%q is not an absolute path", p)
		case filepath.Clean(p) == "/":
			ps.Add(path, "the whole machine is no root")
		case denied{alwaysDenied(nil), true}.contains(filepath.Clean(p)):
			ps.Add(path, "%s is always out of reach, because of the keys and other secrets in it; remove it", p)
		}
	}
}
