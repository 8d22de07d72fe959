package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"parley/broker"
	"parley/sessions/sqlite"
)

// partial is the folder in the state folder in which a restore works. While it is there, the
// state folder is not complete.
const partial = "restore.partial"

// ErrNotEmpty means that something stands where a backup was to be restored.
var ErrNotEmpty = errors.New("the state folder is not empty")

// CheckComplete returns an error for a state folder in which a restore did not come to its end.
func CheckComplete(stateDir string) error {
	_, err := os.Lstat(filepath.Join(stateDir, partial))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a restore that was interrupted: %w", err)
	}
	return fmt.Errorf("a restore into %s was interrupted: empty the folder and restore again", stateDir)
}

// Restore makes a state folder of an archive: in a folder that does not exist, or is empty. It
// touches nothing else. The database is checked as a whole before anything is in its place. It
// is told that it is an older copy: the messages that it has not answered are answered when the
// gateway starts, with the mark of a possible repeat. After an error the folder is as it was.
func (a *Archive) Restore(ctx context.Context, stateDir string, log *slog.Logger) (err error) {
	made, err := prepareFolder(stateDir)
	if err != nil {
		return err
	}
	return a.restoreInto(ctx, stateDir, made, log)
}

// restoreInto restores into a folder in which nothing was a moment ago; made: that was made for it.
func (a *Archive) restoreInto(ctx context.Context, stateDir string, made bool, log *slog.Logger) (err error) {
	stage := filepath.Join(stateDir, partial)
	if err := os.Mkdir(stage, 0o700); err != nil { // another restore is faster
		return fmt.Errorf("restore: %w", err)
	}
	ours := []string{partial}
	defer func() {
		if err == nil {
			return
		}
		for _, name := range ours {
			err = errors.Join(err, os.RemoveAll(filepath.Join(stateDir, name)))
		}
		if made {
			err = errors.Join(err, os.Remove(stateDir))
		}
	}()
	if err := a.unpack(ctx, stage); err != nil {
		return err
	}
	if err := a.openStage(ctx, stage, log); err != nil {
		return err
	}
	if err := syncTree(stage); err != nil {
		return err
	}
	for _, name := range targets() {
		err := moveNew(filepath.Join(stage, name), filepath.Join(stateDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		ours = append(ours, name)
	}
	// Only without it the folder is complete.
	if err := errors.Join(os.RemoveAll(stage), syncPath(stateDir)); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// moveNew gives what is at from the name to, which nothing has yet.
func moveNew(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "restore", Path: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to) // it names both
}

// targets are what a restore puts into the state folder.
func targets() []string {
	return []string{logFolder, workspacesFolder, Database + ".lock", Database}
}

// prepareFolder returns an error unless the folder is, or can be, made anew.
func prepareFolder(dir string) (made bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, fmt.Errorf("make the state folder: %w", err)
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look into the state folder: %w", err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return false, fmt.Errorf("look at the state folder: %w", err)
	}
	if owner, ok := st.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return false, fmt.Errorf("the state folder %s belongs to user %d, and this is user %d: restore as the user that runs the gateway", dir, owner.Uid, os.Geteuid())
	}
	if err := checkUnused(dir); err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.Name() == "lost+found" { // of a volume
			continue
		}
		return false, fmt.Errorf("%w: %s has %s; move what is there away first, or restore into another folder", ErrNotEmpty, dir, e.Name())
	}
	return false, nil
}

// checkUnused returns an error while a gateway has the folder.
func checkUnused(dir string) error {
	f, err := os.Open(filepath.Join(dir, Database+".lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whether a gateway runs: %w", err)
	}
	defer f.Close() //nolint:errcheck // it gives the lock back too
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("a gateway runs on %s: stop it, and move its state folder away", dir)
	}
	return nil
}

// unpack writes all files but those of the log, which only a message server can read.
func (a *Archive) unpack(ctx context.Context, stage string) error {
	for _, f := range a.Manifest.Files {
		if strings.HasPrefix(f.Name, logFolder+"/") {
			continue
		}
		if err := a.unpackFile(ctx, stage, f); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
	}
	return nil
}

func (a *Archive) unpackFile(ctx context.Context, stage string, f File) (err error) {
	name := filepath.Join(stage, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err // it names the file
	}
	mode := a.files[f.Name].Mode().Perm()&0o777 | 0o600
	if f.Name == Database {
		mode = 0o600
	}
	w, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err // it names the file
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return a.copyFile(ctx, f, w)
}

// openStage makes the message log, and checks the database beside it.
func (a *Archive) openStage(ctx context.Context, stage string, log *slog.Logger) (err error) {
	last, err := broker.Restore(ctx, broker.Options{Dir: filepath.Join(stage, logFolder)}, a.Manifest.Generation, a.Manifest.Streams,
		func(stream string) (io.ReadCloser, error) { return a.files[logFolder+"/"+stream].Open() })
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(stage, Database), Log: log})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	err = store.Adopt(ctx, a.Manifest.Generation, last)
	if err = errors.Join(err, store.Close()); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// syncTree has the disk keep all that is in a folder.
func syncTree(dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() && !d.IsDir() {
			return err
		}
		return syncPath(name)
	})
	if err != nil {
		return fmt.Errorf("restore: sync what was written: %w", err)
	}
	return nil
}

func syncPath(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err // it names the file
	}
	return errors.Join(f.Sync(), f.Close())
}
