package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"parley/tools"
	"parley/tools/secrets"
)

// maxPath is how long a path may be, in bytes.
const maxPath = 4096

// The two answers for a path that leads nowhere. What lies outside gets the
// first whether it exists or not.
var (
	errNotAllowed = tools.Errorf(tools.Permanent, "path not allowed: only regular files and folders of the workspace can be reached")
	errNotFound   = tools.Errorf(tools.Permanent, "not found")
)

// boundary decides which paths are in reach. It opens roots for each call, so
// it holds nothing open and every session has its own.
type boundary struct {
	denied    []string // by the operator
	private   []string // in extra roots; as alwaysDenied returns them
	extra     []string
	hardlinks bool
}

// place is a path below a root.
type place struct {
	root   *os.Root
	rel    string // cleaned, "." for the root itself
	abs    string // cleaned, as the text says
	denied denied
}

// denied are the paths that are out of reach, as they are written and as they
// are when their own links are followed.
type denied struct {
	paths []string
	keys  bool // whatever has a name of those that hold keys, too
}

func (d denied) contains(abs string) bool {
	return slices.ContainsFunc(d.paths, func(dir string) bool { return isWithin(dir, abs) }) || d.keys && secrets.IsNamed(abs)
}

// resolveLinks adds to paths where their links lead at present.
func resolveLinks(paths []string) []string {
	d := slices.Clone(paths)
	for _, path := range paths {
		if resolved, err := filepath.EvalSymlinks(path); err == nil && resolved != path {
			d = append(d, resolved)
		}
	}
	return d
}

// alwaysDenied returns the paths that no configuration of roots brings into reach: what
// holds keys on any machine, the memory and environment of processes, and what the gateway
// has for itself. It holds in extra roots only: the workspace lies in the state folder, and
// what is in it belongs to the session, whatever its name.
func alwaysDenied(private []string) []string {
	return append(append(secrets.Paths(), "/proc"), private...)
}

// locate judges the text of a path and opens its root. The caller closes it.
func (b *boundary) locate(workspace, path string) (place, error) {
	abs, ok := cleanPath(workspace, path)
	no := denied{paths: resolveLinks(b.denied)}
	if !ok || no.contains(abs) {
		return place{}, errNotAllowed
	}
	for i, dir := range append([]string{filepath.Clean(workspace)}, b.extra...) {
		if !isWithin(dir, abs) {
			continue
		}
		if i > 0 { // a root of the operator's
			no = denied{append(no.paths, resolveLinks(b.private)...), true}
			if no.contains(abs) {
				return place{}, errNotAllowed
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return place{}, errNotAllowed
		}
		rel, err := filepath.Rel(dir, abs)
		if err != nil {
			_ = root.Close()
			return place{}, errNotAllowed
		}
		return place{root, rel, abs, no}, nil
	}
	return place{}, errNotAllowed
}

// cleanPath returns the absolute form of a path that is written relative to a workspace
// or absolute; ok is false where it is none. It looks at the text alone.
func cleanPath(workspace, path string) (abs string, ok bool) {
	if !isWellFormed(path) || !filepath.IsAbs(workspace) {
		return "", false
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), true
	}
	return filepath.Join(workspace, path), true
}

// isWellFormed reports whether path is a path and nothing that another program would
// read something else into.
func isWellFormed(path string) bool {
	return path != "" && len(path) <= maxPath && utf8.ValidString(path) &&
		!strings.ContainsFunc(path, unicode.IsControl) &&
		!strings.HasPrefix(path, "~") &&
		!strings.HasPrefix(path, `\\`) &&
		!strings.HasPrefix(strings.ToLower(path), "file:")
}

// isWithin reports whether abs is dir or below it; both are clean.
func isWithin(dir, abs string) bool {
	return abs == dir || strings.HasPrefix(abs, strings.TrimSuffix(dir, "/")+"/")
}

// open opens what p names, without waiting for a peer where it is a pipe, and
// judges what was opened. The caller closes the file.
func (b *boundary) open(p place, flags int) (*os.File, fs.FileInfo, error) {
	f, err := p.root.OpenFile(p.rel, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, p.missingError()
	case errors.Is(err, syscall.ENOTDIR) && flags&syscall.O_DIRECTORY == 0:
		return nil, nil, p.missingError()
	case err != nil:
		return nil, nil, errNotAllowed
	}
	info, err := f.Stat()
	if err != nil || !p.allows(f, info, p.abs) {
		_ = f.Close()
		return nil, nil, errNotAllowed
	}
	return f, info, nil
}

// allows reports whether the real place of an open file is known and not denied.
func (p place) allows(f *os.File, info fs.FileInfo, abs string) bool {
	path, ok := realPath(f, info, abs)
	return ok && !p.denied.contains(path)
}

// missingError is the answer for a place where nothing is. That is only told where
// one may look: not through a link that leads nowhere, and not below a folder
// that is denied under its real name.
func (p place) missingError() error {
	for rel, abs := p.rel, p.abs; ; rel, abs = filepath.Dir(rel), filepath.Dir(abs) {
		f, err := p.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			info, err := f.Stat()
			allowed := err == nil && p.allows(f, info, abs)
			_ = f.Close()
			if !allowed {
				return errNotAllowed
			}
			return errNotFound
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return errNotAllowed
		}
		if info, err := p.root.Lstat(rel); err == nil && info.Mode()&fs.ModeSymlink != 0 || rel == "." {
			return errNotAllowed
		}
	}
}

// isRegular reports whether f, of which info was read after it was opened, is a plain
// file that has no other name.
//
// That it has one name only is not enough: a file outside that was opened
// through a hard link has one name again as soon as the link is gone. So the
// name by which it was opened must still be there, after info was read; without
// /proc that cannot be told.
func (b *boundary) isRegular(f *os.File, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return b.hardlinks || ok && st.Nlink == 1 && isLinked(f)
}
