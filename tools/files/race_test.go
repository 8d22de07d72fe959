package files_test

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/tools/files"
)

// rounds is how often a race is run: a number of times, a hundred times that with
// PARLEY_LONG, and until the tool has met the entry both as what it may use and as
// what it may not.
func rounds(t *testing.T, seen map[string]int, tool string) iter.Seq[int] {
	minimum := 50
	if os.Getenv("PARLEY_LONG") != "" {
		minimum = 5000
	}
	return func(yield func(int) bool) {
		for i := 0; i < minimum || seen[tool+" allow"] == 0 || seen[tool+" deny"] == 0; i++ {
			if i == 100*minimum {
				t.Fatalf("in %d rounds %s did not meet both: %v", i, tool, seen)
			}
			if !yield(i) {
				return
			}
		}
	}
}

// flip runs turn again and again until the returned function was called.
func flip(t *testing.T, turn func()) (stop func()) {
	t.Helper()
	var flipper sync.WaitGroup
	done := make(chan struct{})
	flipper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				turn()
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		flipper.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// flipFolder makes the entry by turns a folder inside and a link to the outside.
func (h fixture) flipFolder(t *testing.T, name string) (stop func()) {
	t.Helper()
	entry := filepath.Join(h.ws, name)
	dir, link := entry+"-dir", entry+"-link"
	h.write(t, filepath.Join(dir, "secret"), "INSIDE, AND LONGER")
	if err := os.Symlink("../out", link); err != nil {
		t.Fatal(err)
	}
	return flip(t, func() {
		for _, kind := range []string{dir, link} {
			if os.Rename(kind, entry) != nil {
				_ = os.RemoveAll(entry) // a tool was quicker and made it
				continue
			}
			_ = os.Rename(entry, kind)
		}
	})
}

// S6.12
func TestAFolderThatTurnsIntoALinkNeverLetsTheOutsideIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stop := h.flipFolder(t, "race")
	call := with(t, h.config())
	seen := map[string]int{}
	for range rounds(t, seen, "read_file") {
		for tool, args := range map[string]map[string]any{
			"read_file":      {"path": "race/secret"},
			files.SendName:   {"path": "race/secret"},
			"view":           {"path": "race/secret"},
			"list_directory": {"path": "race"},
			"grep":           {"path": ".", "pattern": "SECRET", "literal": true},
			"glob":           {"path": "race", "pattern": "*"},
		} {
			got, err := call(t, h.ws, tool, args)
			seen[tool+" "+verdict(err)]++
			if strings.Contains(got, "SECRET") || strings.Contains(got, " 6  secret") {
				t.Fatalf("%s read the outside: %q", tool, got)
			}
		}
	}
	stop()
	t.Log(seen)
	h.untouched(t)
}

// S6.12
func TestAFolderThatTurnsIntoALinkNeverLetsAnythingOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stop := h.flipFolder(t, "racew")
	call := with(t, h.config())
	seen := map[string]int{}
	for range rounds(t, seen, "write_file") {
		for _, c := range []struct {
			tool string
			args map[string]any
		}{
			{"write_file", map[string]any{"path": "racew/new", "content": "x"}},
			{"write_file", map[string]any{"path": "racew/made/new", "content": "x", "create_parents": true}},
			{"write_file", map[string]any{"path": "racew/secret", "content": "INSIDE"}},
			{"edit_file", map[string]any{"path": "racew/secret", "old_text": "S", "new_text": "$", "replace_all": true}},
			{"delete_file", map[string]any{"path": "racew/secret"}},
		} {
			_, err := call(t, h.ws, c.tool, c.args)
			seen[c.tool+" "+verdict(err)]++
		}
	}
	stop()
	t.Log(seen)
	h.untouched(t)
	if _, err := call(t, h.ws, "write_file", map[string]any{"path": "after", "content": "x"}); err != nil {
		t.Errorf("in peace: %v", err)
	}
}

// S6.12
func TestAFileThatTurnsIntoALinkIsNeverFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	entry, next := filepath.Join(h.ws, "target"), filepath.Join(h.ws, "target-next")
	// A file is closed when the next has its name: to give up the last hold on
	// one takes time, and that time is to pass while a file is there.
	var old *os.File
	file := func() {
		f, err := os.Create(next)
		if err != nil {
			return
		}
		_, _ = f.WriteString("SINSIDE")
		_ = os.Rename(next, entry)
		_ = old.Close()
		old = f
	}
	stop := flip(t, func() {
		file()
		if os.Symlink("../out/secret", next) == nil {
			_ = os.Rename(next, entry)
		}
		file()
		if os.Link(filepath.Join(h.out, "secret"), next) == nil {
			_ = os.Rename(next, entry)
		}
	})
	defer func() { _ = old.Close() }()
	defer stop()
	call := with(t, h.config())
	seen := map[string]int{}
	for range rounds(t, seen, "read_file") {
		for tool, args := range map[string]map[string]any{
			"write_file":   {"path": "target", "content": "x"},
			"edit_file":    {"path": "target", "old_text": "S", "new_text": "$", "replace_all": true},
			"delete_file":  {"path": "target"},
			"grep":         {"path": "target", "pattern": "SECRET"},
			"read_file":    {"path": "target"},
			files.SendName: {"path": "target"},
			"view":         {"path": "target"},
		} {
			got, err := call(t, h.ws, tool, args)
			seen[tool+" "+verdict(err)]++
			if tool == "grep" && strings.Contains(got, "target") || strings.Contains(got, "SECRET") {
				t.Fatalf("%s read the outside: %q", tool, got)
			}
		}
	}
	stop()
	t.Log(seen)
	h.untouched(t)
	if _, err := call(t, h.ws, "write_file", map[string]any{"path": "after", "content": "x"}); err != nil {
		t.Errorf("in peace: %v", err)
	}
}
