package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"parley/tools/files"
)

func TestWhatIsKeptNeverTakesThePlaceOfAnotherFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	big := strings.Repeat("0123456789abcdef", 5000)
	keep := func(path, text, want string) {
		t.Helper()
		got, err := files.Save(t.Context(), h.config(), h.ws, path, iotest.HalfReader(strings.NewReader(text)))
		if err != nil || got != want {
			t.Fatalf("keep %s: %s, %v; want %s", path, got, err, want)
		}
		if is := h.read(t, got); is != text {
			t.Errorf("%s has %d bytes, want %d", got, len(is), len(text))
		}
	}
	keep("in/1-a.tar.gz", "one", "in/1-a.tar.gz")
	keep("in/1-a.tar.gz", "one", "in/1-a.tar.gz") // again, as after a crash
	keep("in/1-a.tar.gz", "two", "in/1-a.tar-2.gz")
	keep("in/1-a.tar.gz", "six", "in/1-a.tar-3.gz")
	keep("in/1-a.tar.gz", "two", "in/1-a.tar-2.gz")
	keep("in/empty", "", "in/empty")
	keep("in/empty", "", "in/empty")
	keep("in/big", big, "in/big")
	keep("in/big", big, "in/big")
	keep("in/big", big[:len(big)-1]+"x", "in/big-2")
	keep("in/big", big[:len(big)-1], "in/big-3")
	if err := os.Mkdir(filepath.Join(h.ws, "in", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	keep("in/folder", "x", "in/folder-2")
	keep("in/ä.jpg", "x", "in/ä.jpg")
	want := []string{"1-a.tar-2.gz", "1-a.tar-3.gz", "1-a.tar.gz", "big", "big-2", "big-3", "empty", "folder", "folder-2", "ä.jpg"}
	if d := cmp.Diff(want, h.list(t, "in")); d != "" {
		t.Error(d)
	}
	for n := range 60 {
		_, err := files.Save(t.Context(), h.config(), h.ws, "in/many", strings.NewReader(strings.Repeat("x", n+1)))
		if (err == nil) != (n < 50) {
			t.Fatalf("file %d of the name: %v", n, err)
		}
	}
	h.untouched(t)
}

// Links in the workspace lead nowhere, and a path cannot leave it.
func TestWhatIsKeptStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		set        func(h fixture) error
		want       string // "": refused
	}{
		{"a folder that is a link to the outside", "in/a", func(h fixture) error { return os.Symlink(filepath.Dir(h.ws), filepath.Join(h.ws, "in")) }, ""},
		{"a folder that is a link to nowhere", "in/a", func(h fixture) error {
			return os.Symlink(filepath.Join(filepath.Dir(h.ws), "nowhere"), filepath.Join(h.ws, "in"))
		}, ""},
		{"a folder that is a file", "in/a", func(h fixture) error { return os.WriteFile(filepath.Join(h.ws, "in"), nil, 0o600) }, ""},
		{"a folder that is a link in the workspace", "in/a", func(h fixture) error {
			return os.Symlink("real", filepath.Join(h.ws, "in"))
		}, "in/a"},
		{"a name that is a link to the outside", "a", func(h fixture) error {
			return os.Symlink(filepath.Join(filepath.Dir(h.ws), "new"), filepath.Join(h.ws, "a"))
		}, ""},
		{"a denied folder", "private/x", nil, ""},
		{"a link to a denied folder", "in/x", func(h fixture) error { return os.Symlink("private", filepath.Join(h.ws, "in")) }, ""},
		{"dots", "../x", nil, ""},
		{"dots behind a folder", "in/../../x", nil, ""},
		{"an absolute path", "/tmp/x", nil, ""},
		{"a folder", "in/", nil, ""},
		{"nothing", "", nil, ""},
		{"the workspace", ".", nil, ""},
		{"a control character", "a\nb", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if c.set != nil {
				_ = os.Remove(filepath.Join(h.ws, c.path))
				if err := c.set(h); err != nil {
					t.Fatal(err)
				}
			}
			before := h.list(t, "..")
			got, err := files.Save(t.Context(), h.config(), h.ws, c.path, strings.NewReader("the text"))
			if c.name == "a name that is a link to the outside" {
				if err != nil || got != "a-2" { // the link is some file of that name
					t.Errorf("%q, %v", got, err)
				}
			} else if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v", got, err)
			}
			if d := cmp.Diff(before, h.list(t, "..")); d != "" {
				t.Error(d)
			}
			h.untouched(t)
		})
	}
}

// A file that cannot be read to its end leaves nothing, nor does one that is
// stopped.
func TestWhatBreaksOffIsNotKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	broken := errors.New("the line broke")
	stopped, cancel := context.WithCancelCause(t.Context())
	for _, c := range []struct {
		ctx  context.Context // a row
		r    io.Reader
		want error
	}{
		{t.Context(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), broken},
		{stopped, io.MultiReader(bytes.NewReader(make([]byte, 100)), stopper{cancel, broken}, strings.NewReader("rest")), broken},
	} {
		if got, err := files.Save(c.ctx, h.config(), h.ws, "in/a", c.r); !errors.Is(err, c.want) {
			t.Errorf("%q, %v", got, err)
		}
		if left := h.list(t, "in"); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
}

type stopper struct {
	cancel context.CancelCauseFunc
	cause  error
}

func (s stopper) Read([]byte) (int, error) { s.cancel(s.cause); return 0, io.EOF }
