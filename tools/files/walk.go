package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"parley/tools"
)

// Limits of one search.
const (
	maxVisited = 300_000 // files and folders looked at
	maxDepth   = 64      // folders in each other, each held open
)

// foundFile is a plain file that a walk came to. It can be opened during the visit.
type foundFile struct {
	dir  folder
	name string
	info fs.FileInfo
	rel  string // from where the walk began
}

// walker goes through all plain files below a folder.
type walker struct {
	place place
	left  int // entries
	visit func(foundFile) error
	// report is called again and again with how many entries were looked at; nil: it is not.
	report func(looked int)
}

// reportEvery is after how many entries a walk reports again.
const reportEvery = 1000

func (p place) newWalker(visit func(foundFile) error) *walker {
	return &walker{place: p, left: maxVisited, visit: visit}
}

// reporting has the walk say in the call c how far it is. (F19)
func (w *walker) reporting(c tools.Call) *walker {
	if c.Progress != nil {
		w.report = func(looked int) { c.Progress(fmt.Sprintf("%d files and folders", looked)) }
	}
	return w
}

// walk visits the files below dir in the order of their names, folder by folder,
// until visit returns an error, which it returns. What vanishes meanwhile or
// cannot be read is passed over.
func (w *walker) walk(ctx context.Context, dir folder, rel string, depth int) error {
	for _, entry := range readNames(dir, w.left+1) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.left--; w.left < 0 {
			return errTooMany
		}
		if looked := maxVisited - w.left; looked%reportEvery == 0 && w.report != nil {
			w.report(looked)
		}
		if w.place.hides(dir, entry) {
			continue
		}
		info, err := dir.Lstat(entry)
		if err != nil {
			continue
		}
		switch {
		case info.Mode().IsRegular():
			err = w.visit(foundFile{dir, entry, info, filepath.Join(rel, entry)})
		case info.IsDir() && entry != ".git" && depth < maxDepth:
			err = w.descend(ctx, dir, entry, info, rel, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// descend walks through the folder entry of dir if it is still the one that was
// looked at, and no link that took its place.
func (w *walker) descend(ctx context.Context, dir folder, entry string, info fs.FileInfo, rel string, depth int) error {
	sub, err := w.place.enter(dir.Root, entry, filepath.Join(dir.abs, entry))
	if err != nil {
		return nil // gone, or out of reach
	}
	defer func() { _ = sub.Close() }()
	if now, err := sub.Stat("."); err != nil || !os.SameFile(now, info) {
		return nil
	}
	return w.walk(ctx, sub, filepath.Join(rel, entry), depth+1)
}

// readNames returns what can be read of a folder, at most so many names, sorted.
func readNames(dir folder, limit int) []string {
	f, err := dir.OpenFile(".", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	all, _ := f.Readdirnames(limit) // what came before an error counts
	slices.Sort(all)
	return all
}

// open opens the file for reading, if it is still the one that was looked at.
func (f foundFile) open() (*os.File, error) {
	file, err := f.dir.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(now, f.info) {
		_ = file.Close()
		return nil, errNotFound
	}
	return file, nil
}
