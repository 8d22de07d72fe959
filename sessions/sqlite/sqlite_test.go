package sqlite_test

import (
	"path/filepath"
	"testing"

	"parley/sessions"
	"parley/sessions/sessiontest"
	"parley/sessions/sqlite"
)

func TestTheStoreKeepsWhatSessionsPromise(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) sessions.Store {
		t.Helper()
		return openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	})
}

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
