package cmdtest

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// KeepLog keeps the log of a process that t runs, if t has failed: as a file among
// the artifacts of the test (go test -artifacts, as make test has it), and says
// where. Without artifacts t prints the log's end. It is for the test's cleanup.
func KeepLog(t testing.TB, name, path string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	if f := flag.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
		t.Logf("the end of the log of %s:\n%s", name, logTail(path))
		return
	}
	kept := filepath.Join(t.ArtifactDir(), name+".log")
	if err := copyFile(kept, path); err != nil {
		t.Logf("the log of %s is not kept: %v", name, err)
		return
	}
	t.Logf("the log of %s: %s", name, kept)
}

// logTail returns the last lines of a log.
func logTail(path string) string {
	b, err := os.ReadFile(path) // of the test
	if err != nil {
		return err.Error()
	}
	const most = 4 << 10
	return string(b[max(0, len(b)-most):])
}

func copyFile(to, from string) error {
	src, err := os.Open(from) // of the test
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.Create(to) // of the test
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}
