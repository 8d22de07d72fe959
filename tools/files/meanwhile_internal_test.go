package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// What becomes of a file between the look at it and the use of it.
func TestWhatWasExchangedMeanwhileIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, exchange := range map[string]func(path string) error{
		"another file": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("A"), 0o600), os.Rename(path+"2", path))
		},
		"a link": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("A"), 0o600), os.Remove(path), os.Symlink(filepath.Base(path)+"2", path))
		},
		"other text": func(path string) error { return os.WriteFile(path, []byte("longer"), 0o600) },
		"nothing":    os.Remove,
	} {
		ws := t.TempDir()
		path := filepath.Join(ws, "f")
		if err := os.WriteFile(path, []byte("A"), 0o600); err != nil {
			t.Fatal(err)
		}
		w := &writer{boundary: &boundary{}, max: 100}
		aimed, err := w.openTarget(ws, "f", false)
		if err != nil {
			t.Fatal(err)
		}
		seen := foundFile{dir: aimed.folder, name: "f", info: aimed.info}
		if err := exchange(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadDir(ws)
		if err := aimed.put(t.Context(), []byte("mine")); !errors.Is(err, errChanged) {
			t.Errorf("%s: written: %v", name, err)
		}
		if after, _ := os.ReadDir(ws); len(after) != len(before) {
			t.Errorf("%s: left behind: %v", name, after)
		}
		if name != "other text" { // an edit reads that, and finds the change when it writes
			if text, err := w.readText(aimed); err == nil {
				t.Errorf("%s: read for an edit: %q", name, text)
			}
			if f, err := seen.open(); err == nil {
				_ = f.Close()
				t.Errorf("%s: opened by a search", name)
			}
		}
		_ = aimed.Close()
	}
}

func TestANewFileDoesNotTakeThePlaceOfOneThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	w := &writer{boundary: &boundary{}, max: 100}
	aimed, err := w.openTarget(ws, "f", false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aimed.Close() }()
	if err := os.WriteFile(filepath.Join(ws, "f"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := aimed.put(t.Context(), []byte("mine")); !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
}

func TestAFolderThatWasExchangedMeanwhileIsNotSearched(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(ws, "one"), 0o700), os.Mkdir(filepath.Join(ws, "two"), 0o700),
		os.WriteFile(filepath.Join(ws, "two", "f"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := searcher{reader: reader{boundary: &boundary{}}}
	p, dir, err := s.openFolder(ws, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	for looked, want := range map[string]int{"one": 0, "two": 1} {
		var info fs.FileInfo
		if info, err = os.Stat(filepath.Join(ws, looked)); err != nil {
			t.Fatal(err)
		}
		visited := 0
		w := p.newWalker(func(foundFile) error { visited++; return nil })
		if err := w.descend(t.Context(), dir, "two", info, "", 0); err != nil || visited != want {
			t.Errorf("looked at %s: %d files, %v", looked, visited, err)
		}
	}
}
