package folders_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley/folders"
)

// The folder of a user is named from the one in which the tests run, since those above it may be
// closed to that user.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "folders-*")
		if err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			err = errors.Join(os.Chmod(dir, 0o711), os.Chdir(dir)) // another user works in it
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// asUser runs a test in a folder of a user for whom rights count: for root they do not.
func asUser(t *testing.T, test func(dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp(".", "of-a-user-")
	noError(t, err)
	t.Cleanup(func() { noError(t, os.RemoveAll(dir)) })
	if os.Geteuid() != 0 {
		test(dir)
		return
	}
	const nobody = 65534
	noError(t, os.Chown(dir, nobody, nobody))
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Error(err)
			return
		}
		test(dir)
	}()
	<-done
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// write makes a file of three bytes, and its folders.
func write(t *testing.T, name string) {
	t.Helper()
	noError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	noError(t, os.WriteFile(name, make([]byte, 3), 0o600))
}

// lock takes the rights to a folder from its owner until the test ends.
func lock(t *testing.T, dir string, left fs.FileMode) {
	t.Helper()
	noError(t, os.Chmod(dir, left))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // a folder
}

func TestWalk(t *testing.T) {
	t.Parallel()
	names := func(t *testing.T, dir string) []string {
		t.Helper()
		var all []string
		noError(t, folders.Walk(dir, func(f folders.File) error {
			if f.Info.Mode().IsRegular() {
				read, err := f.In.ReadFile(f.Info.Name())
				noError(t, err)
				all = append(all, f.Name+" "+strconv.Itoa(len(read)))
			}
			return nil
		}))
		slices.Sort(all)
		return all
	}
	t.Run("a folder that its owner may not read is read, and stays as it was", func(t *testing.T) {
		t.Parallel()
		asUser(t, func(dir string) {
			for _, rights := range []fs.FileMode{0, 0o300, 0o100, 0o200, 0o400} {
				name := filepath.Join(dir, rights.String())
				write(t, filepath.Join(name, "in", "file"))
				lock(t, filepath.Join(name, "in"), rights)
				lock(t, name, rights)
				if got := names(t, name); !slices.Equal(got, []string{"in/file 3"}) {
					t.Errorf("with the rights %v: %q", rights, got)
				}
				if got := names(t, dir); !slices.Contains(got, rights.String()+"/in/file 3") {
					t.Errorf("with the rights %v: %q", rights, got)
				}
				if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != rights {
					t.Errorf("%v afterwards instead of %v; %v", info.Mode(), rights, err)
				}
			}
		})
	})
	t.Run("what has no name for the system is found, and beyond the most folders an error says so", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		t.Cleanup(func() { noError(t, folders.Remove(dir)) })
		nest := func(part string, times int) {
			in, err := os.OpenRoot(dir)
			noError(t, err)
			for range times {
				noError(t, in.Mkdir(part, 0o700))
				next, err := in.OpenRoot(part)
				noError(t, errors.Join(err, in.Close()))
				in = next
			}
			noError(t, errors.Join(in.WriteFile("file", []byte("abc"), 0o600), in.Close()))
		}
		long := strings.Repeat("a", 200)
		nest(long, 50) // 10,000 bytes: the most of a name is 4,096
		if got := names(t, dir); len(got) != 1 || !strings.HasSuffix(got[0], "/file 3") {
			t.Errorf("found %d files", len(got))
		}
		noError(t, os.Rename(filepath.Join(dir, long), filepath.Join(dir, "first")))
		nest("a", folders.MaxDepth+1)
		found := 0
		err := folders.Walk(dir, func(f folders.File) error {
			if f.Info.Mode().IsRegular() {
				found++
			}
			return nil
		})
		if !errors.Is(err, folders.ErrDeep) || found != 1 {
			t.Errorf("%d files, and %v", found, err)
		}
	})
	t.Run("a link is not followed, and an error of look ends it", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in", "file"))
		noError(t, os.Symlink("in", filepath.Join(dir, "link")))
		noError(t, os.Symlink("/", filepath.Join(dir, "out")))
		if got := names(t, dir); !slices.Equal(got, []string{"in/file 3"}) {
			t.Errorf("%q", got)
		}
		ended := errors.New("ended")
		looks := 0
		if err := folders.Walk(dir, func(folders.File) error { looks++; return ended }); !errors.Is(err, ended) || looks != 1 {
			t.Errorf("%v after %d", err, looks)
		}
	})
	t.Run("a folder that is not there", func(t *testing.T) {
		t.Parallel()
		if err := folders.Walk(filepath.Join(t.TempDir(), "gone"), nil); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

func TestRemove(t *testing.T) {
	t.Parallel()
	asUser(t, func(dir string) {
		name := filepath.Join(dir, "workspace")
		write(t, filepath.Join(name, "a", "b", "file"))
		lock(t, filepath.Join(name, "a", "b"), 0o500) // what is in it may be read, not deleted
		lock(t, filepath.Join(name, "a"), 0)
		lock(t, name, 0)
		noError(t, folders.Remove(name))
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
		noError(t, folders.Remove(name)) // which is gone
	})
}

func TestFileOpen(t *testing.T) {
	t.Parallel()
	asUser(t, func(dir string) {
		name := filepath.Join(dir, "file")
		write(t, name)
		noError(t, os.Chmod(name, 0))
		noError(t, folders.Walk(dir, func(f folders.File) error {
			open, err := f.Open()
			if err != nil {
				return err // it is the test's
			}
			read, err := io.ReadAll(open)
			if len(read) != 3 {
				t.Errorf("%q", read)
			}
			return errors.Join(err, open.Close())
		}))
		if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != 0 {
			t.Errorf("%v afterwards; %v", info.Mode(), err)
		}
	})
}
