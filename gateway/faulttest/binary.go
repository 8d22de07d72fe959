package faulttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the real program, with its fault points, that all tests share.
var built struct {
	sync.Mutex
	path string // empty: not yet
	err  error
}

func build() (string, error) {
	built.Lock()
	defer built.Unlock()
	if built.path != "" || built.err != nil {
		return built.path, built.err
	}
	dir, err := os.MkdirTemp("", "parley-faults-")
	if err != nil {
		built.err = fmt.Errorf("a folder for the binary: %w", err)
		return "", built.err
	}
	built.path = filepath.Join(dir, "parley")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-tags", "faultpoints", "-o", built.path, "parley/cmd/parley").CombinedOutput()
	if err != nil {
		built.err = fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return built.path, built.err
}

// Binary is the path of the real program, built with its fault points. It is
// built at the first call.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs the tests of a package that uses Binary, and removes it afterwards.
// It is for TestMain: os.Exit(faulttest.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	built.Lock()
	defer built.Unlock()
	if built.path != "" {
		_ = os.RemoveAll(filepath.Dir(built.path))
	}
	return code
}
