package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/sessions"
	"parley/sessions/sessiontest"
	"parley/sessions/sqlite"
)

func TestTheStoreKeepsWhatSessionsPromise(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) sessions.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "parley.db")
		files, err := empty()
		if err != nil {
			t.Fatal(err)
		}
		for ending, content := range files {
			if err := os.WriteFile(path+ending, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return openAt(t, path)
	})
}

// empty makes a store and closes it, once, and returns its files by their
// endings: to migrate a new one takes longer than most cases of the suite.
var empty = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "empty")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is the system's to tidy up then
	path := filepath.Join(dir, "parley.db")
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(path + "*")
	files := map[string][]byte{}
	for _, file := range left {
		if err == nil {
			files[strings.TrimPrefix(file, path)], err = os.ReadFile(file)
		}
	}
	return files, err
})

// openAt opens a store that ends with the test.
func openAt(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
