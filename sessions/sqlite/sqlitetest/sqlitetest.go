// Package sqlitetest opens real stores for tests.
package sqlitetest

import (
	"context"
	"path/filepath"
	"testing"

	"parley/sessions/sqlite"
)

// Open opens the store in the folder dir, and creates it where there is none. When the test ends
// the store is checked, and closed; what is wrong with it fails the test.
func Open(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(context.Background()); err != nil {
			t.Errorf("check the store: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}
