package backup

import (
	"os"
	"path/filepath"
	"testing"
)

// Two restores may find one empty folder: who comes second takes nothing of the first away.
func TestASecondRestoreTakesNothingAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, partial), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Database), []byte("of the first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := new(Archive).restoreInto(t.Context(), dir, false, nil); err == nil {
		t.Error("it went on")
	}
	for _, name := range []string{partial, Database} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
