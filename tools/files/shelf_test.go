package files_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/tools/files"
)

// A shelf is no way around what the file tools deny.
func TestAShelfConfinesPathsAsTheFileToolsDo(t *testing.T) {
	t.Parallel()
	ran, denials, top := 0, map[string]bool{}, ground(t)
	for _, c := range attacks(t) {
		if c.Op != "read" {
			continue
		}
		ran++
		h := c.house(t, top)
		shelf, err := files.NewShelf(h.config())
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := shelf.Read(h.ws, h.path, 1000)
		want := c.Expected
		if c.Input == "{AGENT}/t.txt" {
			want = "deny" // an extra root is another folder
		}
		got := verdict(err)
		if got == "deny" {
			denials[err.Error()] = true
		}
		if got != want || leaks(text) || got == "allow" && text == "" {
			t.Errorf("%q (%s): %s, want %s; %q, %v", c.Input, c.Why, got, want, text, err)
		}
		h.untouched(t)
	}
	h := build(t, top)
	shelf, err := files.NewShelf(h.config())
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := shelf.Read(h.ws, "../agent/t.txt", 1000); verdict(err) != "deny" {
		t.Errorf("an extra root was reached: %q, %v", text, err)
	}
	if ran < 30 || len(denials) != 1 {
		t.Errorf("%d cases ran, with the denials %v", ran, denials)
	}
}

func TestShelfRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.md": "äöü", "bin": "\x00\x01", "bad": "abcdefghijklmnopqrstuvwxyz\xff"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shelf, err := files.NewShelf(files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{1: "", 2: "ä", 3: "ä", 4: "äö", 5: "äö", 6: "äöü", 7: "äöü"} {
		if text, size, err := shelf.Read(dir, "a.md", limit); text != want || size != 6 || err != nil {
			t.Errorf("%d bytes: %q of %d, %v", limit, text, size, err)
		}
	}
	if text, _, err := shelf.Read(dir, "bad", 100); !utf8.ValidString(text) || !strings.HasSuffix(text, "z\uFFFD") || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, _, err := shelf.Read(dir, "bin", 100); err == nil || !strings.HasPrefix(err.Error(), "binary file, ") {
		t.Errorf("%v", err)
	}
}

func TestShelfList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{"b", "a/1", "a/2", ".git/config", "bad\nname"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	shelf, err := files.NewShelf(files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got, more, err := shelf.List(t.Context(), dir, 10); !slices.Equal(got, []string{"a/1", "a/2", "b"}) || more || err != nil {
		t.Errorf("%q, %v, %v", got, more, err)
	}
	if got, more, err := shelf.List(t.Context(), dir, 2); !slices.Equal(got, []string{"a/1", "a/2"}) || !more || err != nil {
		t.Errorf("%q, %v, %v", got, more, err)
	}
	if _, _, err := shelf.List(t.Context(), filepath.Join(dir, "none"), 2); err == nil {
		t.Error("a folder that is not there was listed")
	}
}
