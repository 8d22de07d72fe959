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
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := resolvedPath(info, link); !ok || got != want {
		t.Errorf("got %q, %v, want %q", got, ok, want)
	}
	if got, ok := realPath(f, info, link); !ok || got != want {
		t.Errorf("by descriptor: %q, %v, want %q", got, ok, want)
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
