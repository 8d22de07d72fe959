// Package folders walks and deletes folders in which programs of others have written. Such a
// program may take the owner's own rights to a folder, and it may nest folders so deeply that the
// system has no name for the last of them: neither hides what it wrote.
package folders

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"syscall"
)

// MaxDepth is how many folders below the first Walk enters.
const MaxDepth = 1000

// ErrDeep says that there are folders nested more than MaxDepth deep.
var ErrDeep = errors.New("folders are nested too deep")

// File is something that Walk finds.
type File struct {
	Name string   // from the folder where the walk began, with slashes
	In   *os.Root // the folder that it is in, open while look runs
	Info fs.FileInfo
}

// Open opens a regular file for reading, also one that its owner may not read, if it may.
func (f File) Open() (*os.File, error) {
	// A program may have put a named pipe in the place of the file. Without O_NONBLOCK, opening that
	// waits for a writer.
	const how = os.O_RDONLY | syscall.O_NONBLOCK
	name := f.Info.Name()
	open, err := f.In.OpenFile(name, how, 0)
	if had := f.Info.Mode().Perm(); errors.Is(err, fs.ErrPermission) && f.In.Chmod(name, had|0o400) == nil {
		open, err = f.In.OpenFile(name, how, 0)
		_ = f.In.Chmod(name, had) // it was so before
	}
	return open, err // it names the file
}

// Walk calls look for all that is in dir and in the folders below it: for a folder before what is
// in it, and it follows no symbolic link. A folder that its owner may not read it makes readable
// as long as it reads, if it may. An error of look ends it and is returned; other errors do not end
// it, and the first one of them is returned, perhaps ErrDeep. What goes away meanwhile is none.
func Walk(dir string, look func(File) error) error {
	w := walk{look: look, rights: 0o500, depth: MaxDepth, restore: true}
	return w.all(dir)
}

// Remove deletes dir and what is in it, as os.RemoveAll does, with the folders that their owner may
// not write too.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	w := walk{look: func(File) error { return nil }, rights: 0o700, depth: math.MaxInt}
	_ = w.all(dir)           // deleting says what is in its way
	return os.RemoveAll(dir) // it names the file
}

type walk struct {
	look    func(File) error
	rights  fs.FileMode // that the owner must have to a folder
	depth   int         // of folders below the first
	restore bool        // the rights are as before in the end
	first   error       // that did not end it
}

func (w *walk) all(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at a folder: %w", err)
	}
	if had := info.Mode().Perm(); info.IsDir() && had&w.rights != w.rights {
		if err := os.Chmod(dir, had|w.rights); err != nil {
			return fmt.Errorf("unlock a folder: %w", err)
		}
		if w.restore {
			defer func() { _ = os.Chmod(dir, had) }() // it was so before
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("look at a folder: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	if err := w.folder(root, "", 0); err != nil {
		return err
	}
	return w.first
}

// note keeps an error that does not end the walk.
func (w *walk) note(name string, err error) {
	if w.first == nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.first = fmt.Errorf("look at %s: %w", name, err)
	}
}

// atATime is how many entries of a folder are read at once: one of a program of others may have
// any number.
const atATime = 1000

// folder walks what is in a folder of that name.
func (w *walk) folder(root *os.Root, name string, depth int) error {
	f, err := root.Open(".")
	if err != nil {
		w.note(name, err)
		return nil
	}
	defer func() { _ = f.Close() }() // nothing was written
	for {
		entries, err := f.ReadDir(atATime)
		for _, e := range entries {
			if err := w.entry(root, path.Join(name, e.Name()), e.Name(), depth); err != nil {
				return err
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.note(name, err)
			}
			return nil
		}
	}
}

// entry looks at what has a name in a folder, which is called last there, and walks it if it is a
// folder.
func (w *walk) entry(in *os.Root, name, last string, depth int) error {
	info, err := in.Lstat(last)
	if err != nil {
		w.note(name, err)
		return nil
	}
	if err := w.look(File{Name: name, In: in, Info: info}); err != nil || !info.IsDir() {
		return err
	}
	if depth == w.depth {
		w.note(name, ErrDeep)
		return nil
	}
	if had := info.Mode().Perm(); had&w.rights != w.rights {
		if err := in.Chmod(last, had|w.rights); err != nil {
			w.note(name, err)
			return nil
		}
		if w.restore {
			defer func() { _ = in.Chmod(last, had) }() // it was so before
		}
	}
	child, err := in.OpenRoot(last)
	if err != nil {
		w.note(name, err)
		return nil
	}
	defer func() { _ = child.Close() }() // nothing was written
	return w.folder(child, name, depth+1)
}
