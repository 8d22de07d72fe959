package files

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"parley/tools"
	"parley/tools/trusted"
)

var (
	errNoFolder  = tools.Errorf(tools.Permanent, "the folder of that file does not exist; set create_parents to make it")
	errInFile    = tools.Errorf(tools.Permanent, "a part of the path is a file, not a folder")
	errByLink    = tools.Errorf(tools.Permanent, "the path leads by a link to a file that needs permission to change; give the path without the link")
	errChanged   = tools.Errorf(tools.Transient, "the file was changed by something else meanwhile; read it again")
	errUnwritten = tools.Errorf(tools.Transient, "the file could not be written")
	errDiskFull  = tools.Errorf(tools.Transient, "the file could not be written: no space is left")
)

// target is a name in a folder that is held open.
type target struct {
	folder
	name string
	rel  string      // as the text says, for answers
	info fs.FileInfo // of what has the name; nil: nothing
}

// openTarget opens the folder of what path names and looks at what is there. The caller
// closes it. parents: make the folders that are missing.
func (w *writer) openTarget(workspace, path string, parents bool) (target, error) {
	p, err := w.locate(workspace, path)
	if err != nil {
		return target{}, err
	}
	defer func() { _ = p.root.Close() }()
	if p.rel == "." {
		return target{}, errNotAllowed
	}
	home, err := p.enter(p.root, ".", strings.TrimSuffix(p.abs, "/"+p.rel))
	if err != nil {
		return target{}, errNotAllowed
	}
	_ = home.Close() // only its place is of interest
	dir, err := w.openParent(p, home.real, parents)
	if err != nil {
		return target{}, err
	}
	t := target{folder: dir, name: filepath.Base(p.rel), rel: p.rel}
	if err = w.checkRealPath(p, home.real, filepath.Join(dir.real, t.name)); err == nil {
		t.info, err = t.lstat()
	}
	if err != nil {
		_ = dir.Close()
		return target{}, err
	}
	return t, nil
}

// checkRealPath reports whether what really is to be changed may be: it is below the real
// root, not denied, and of the category that the text of the path suggests.
func (w *writer) checkRealPath(p place, home, is string) error {
	rel, ok := relativeTo(home, is)
	switch {
	case !ok || p.denied.contains(is):
		return errNotAllowed
	case trusted.Includes(rel, w.trusted) && !trusted.Includes(p.rel, w.trusted):
		return errByLink
	}
	return nil
}

// lstat returns what has the name now, nil for nothing. A link is not followed.
func (t target) lstat() (fs.FileInfo, error) {
	info, err := t.Lstat(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errNotAllowed
	}
	return info, nil
}

// openParent enters the folder that holds p. It is errNotFound where that is not
// there and may be known not to be there.
func (w *writer) openParent(p place, home string, create bool) (folder, error) {
	dir, err := p.enter(p.root, filepath.Dir(p.rel), filepath.Dir(p.abs))
	if err == nil {
		return dir, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return folder{}, errNotAllowed
	}
	if missing := p.missingError(); !errors.Is(missing, errNotFound) {
		return folder{}, missing
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return folder{}, errInFile
	case !create:
		return folder{}, errNotFound
	}
	return w.makeParents(p, home)
}

// makeParents makes the folders above p that are missing, one in the other, and
// judges each.
func (w *writer) makeParents(p place, home string) (folder, error) {
	var missing []string
	rel, abs := filepath.Dir(p.rel), filepath.Dir(p.abs)
	dir, err := p.enter(p.root, rel, abs)
	for errors.Is(err, fs.ErrNotExist) && rel != "." {
		missing = append(missing, filepath.Base(rel))
		rel, abs = filepath.Dir(rel), filepath.Dir(abs)
		dir, err = p.enter(p.root, rel, abs)
	}
	if err != nil {
		return folder{}, errNotAllowed
	}
	slices.Reverse(missing)
	whole := filepath.Join(append(append([]string{dir.real}, missing...), filepath.Base(p.rel))...)
	if err := w.checkRealPath(p, home, whole); err != nil {
		_ = dir.Close()
		return folder{}, err
	}
	for _, name := range missing {
		err := dir.Mkdir(name, 0o755)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		var next folder
		if err == nil {
			next, err = p.enter(dir.Root, name, filepath.Join(dir.abs, name))
		}
		_ = dir.Close()
		if err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				return folder{}, errDiskFull
			}
			return folder{}, errNotAllowed
		}
		dir = next
	}
	return dir, nil
}
