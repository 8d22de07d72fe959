package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"parley/sessions/sqlite"
)

func BenchmarkOpen(b *testing.B) {
	open := func(b *testing.B, path string) *sqlite.Store {
		b.Helper()
		s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	shut := func(b *testing.B, s *sqlite.Store) {
		b.Helper()
		b.StopTimer()
		defer b.StartTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("new", func(b *testing.B) {
		dir := b.TempDir()
		for i := range b.N {
			shut(b, open(b, filepath.Join(dir, fmt.Sprint(i), "parley.db")))
		}
	})
	b.Run("small", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "parley.db")
		s := openAt(b, path)
		d := newDesk(b, s, "ann")
		for i := range 20 {
			d.turn(i)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		for range b.N {
			shut(b, open(b, path))
		}
	})
}
