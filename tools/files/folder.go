package files

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// folder is a folder that is held open: whatever becomes of its name meanwhile,
// work goes on in this very folder.
type folder struct {
	*os.Root
	abs  string // as the text says
	real string // as it is
}

// enter opens the folder rel of root, which the text calls abs, and judges its
// real place. The caller closes it. An error that is not errNotAllowed is the
// system's.
func (p place) enter(root *os.Root, rel, abs string) (folder, error) {
	// The dot has rel opened as a folder and as nothing else: to open a pipe
	// would be to wait for its peer.
	dir, err := root.OpenRoot(rel + "/.")
	if err != nil {
		return folder{}, err
	}
	is, ok := p.realPath(dir, abs)
	if !ok || p.denied.contains(is) {
		_ = dir.Close()
		return folder{}, errNotAllowed
	}
	return folder{dir, abs, is}, nil
}

// realPath returns the real path of an open folder.
func (p place) realPath(dir *os.Root, abs string) (path string, ok bool) {
	f, err := dir.OpenFile(".", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", false
	}
	return realPath(f, info, abs)
}

// sync makes the names in the folder outlast a loss of power, where the file
// system knows how.
func (f folder) sync() error {
	dir, err := f.OpenFile(".", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// relativeTo returns the path of abs from dir; ok is false where it is not below it.
func relativeTo(dir, abs string) (rel string, ok bool) {
	if !isWithin(dir, abs) {
		return "", false
	}
	rel, err := filepath.Rel(dir, abs)
	return rel, err == nil
}
