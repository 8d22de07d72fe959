package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWithoutProcAPathIsOnlyBelievedWhileItIsTheSameFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(link)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := resolvedPath(info, link); !ok || got != real {
		t.Errorf("got %q, %v, want %q", got, ok, real)
	}
	if got, ok := realPath(f, info, link); !ok || got != real {
		t.Errorf("by descriptor: %q, %v, want %q", got, ok, real)
	}
	if err := os.Rename(name, name+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := resolvedPath(info, link); ok {
		t.Errorf("another file passed as %q", got)
	}
}
