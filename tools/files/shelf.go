package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"parley/tools"
)

// Shelf reads text files of folders that belong to the operator and to no session, such
// as those of skills. A path is confined to its folder as the file tools confine one to
// a workspace: no "..", no link and no second name leads out, and the denied list of the
// configuration holds. Extra roots are out of reach. Its methods may be called
// concurrently.
type Shelf struct{ reader }

// NewShelf returns the shelf of a configuration.
func NewShelf(c Config) (*Shelf, error) {
	b, err := c.boundary()
	if err != nil {
		return nil, err
	}
	b.extra = nil
	return &Shelf{reader{boundary: b}}, nil
}

// errNotOnShelf is the answer for a path that leads out of its folder, whether something
// is there or not.
var errNotOnShelf = tools.Errorf(tools.Permanent, "path not allowed: only regular files of this folder can be read, by a path relative to it")

// Read returns the beginning of the text file at path in folder, at most limit bytes, and
// the size of the whole file. Bytes that are no UTF-8 become U+FFFD. folder is absolute;
// it may itself be reached through links. Errors are those of tools.
func (s *Shelf) Read(folder, path string, limit int64) (text string, size int64, err error) {
	f, notice, err := s.openText(folder, path)
	switch {
	case errors.Is(err, errNotAllowed):
		return "", 0, errNotOnShelf
	case err != nil:
		return "", 0, err
	case notice != "":
		return "", 0, tools.Errorf(tools.Permanent, "%s", strings.Trim(notice, "[]"))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", 0, errUnreadable
	}
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return "", 0, errUnreadable
	}
	if info.Size() > limit {
		b = dropPartialCharacter(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), info.Size(), nil
}

// List returns the paths of the regular files in folder, in the order of their names, at
// most limit; more reports that there are others. Links are passed over, and so are
// names that hold control characters.
func (s *Shelf) List(ctx context.Context, folder string, limit int) (paths []string, more bool, err error) {
	p, dir, err := s.openFolder(folder, "")
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", folder, err)
	}
	defer func() { _ = dir.Close() }()
	err = p.newWalker(func(f foundFile) error {
		switch {
		case !isWellFormed(f.rel):
			return nil
		case len(paths) == limit:
			return errEnough
		}
		paths = append(paths, filepath.ToSlash(f.rel))
		return nil
	}).walk(ctx, dir, "", 0)
	if errors.Is(err, errEnough) || errors.Is(err, errTooMany) {
		return paths, true, nil
	}
	return paths, false, err
}
