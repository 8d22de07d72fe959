package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The entry "race" is by turns a folder inside and a link to the outside, while
// it is read and listed.
func TestAFolderThatTurnsIntoALinkNeverLetsTheOutsideIn(t *testing.T) {
	t.Parallel()
	const rounds = 4000
	h := newHouse(t)
	entry := filepath.Join(h.ws, "race")
	dir, link := filepath.Join(h.ws, "race-dir"), filepath.Join(h.ws, "race-link")
	h.write(t, filepath.Join(dir, "secret"), "INSIDE, AND LONGER")
	if err := os.Symlink("../out", link); err != nil {
		t.Fatal(err)
	}
	var flipper sync.WaitGroup
	stop := make(chan struct{})
	flipper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, kind := range []string{dir, link} {
				if os.Rename(kind, entry) == nil {
					_ = os.Rename(entry, kind)
				}
			}
		}
	})
	call := with(t, h.config())
	seen := map[string]int{}
	for range rounds {
		for _, tool := range []string{"read_file", "list_directory"} {
			path := "race/secret"
			if tool == "list_directory" {
				path = "race"
			}
			got, err := call(t, h.ws, tool, map[string]any{"path": path})
			seen[tool+" "+verdict(err)]++
			if strings.Contains(got, "SECRET") || strings.Contains(got, " 6  secret") {
				t.Fatalf("%s read the outside: %q", tool, got)
			}
		}
	}
	close(stop)
	flipper.Wait()
	t.Log(seen)
	h.untouched(t)
}
