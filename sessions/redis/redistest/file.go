package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// manifest names the files that the append-only file is made of.
func (s *Server) manifest() string {
	return filepath.Join(s.dir, "appendonlydir", "appendonly.aof.manifest")
}

// repair cuts an unfinished write off the append-only file.
func (s *Server) repair() error {
	if _, err := os.Stat(s.manifest()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	cmd := exec.Command("redis-check-aof", "--fix", s.manifest()) //nolint:gosec,noctx // our own file; it ends by itself
	cmd.Stdin = strings.NewReader("y\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("repair the append-only file: %w:\n%s", err, out)
	}
	return nil
}

// Cut takes the last bytes off the append-only file of a server that was killed,
// as if the kill had come in the middle of a write.
func (s *Server) Cut(bytes int64) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(s.manifest()), "*.incr.aof"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no append-only file: %v", err)
	}
	last := files[0]
	for _, f := range files {
		if len(f) > len(last) || len(f) == len(last) && f > last { // …9.incr.aof, …10.incr.aof
			last = f
		}
	}
	st, err := os.Stat(last)
	if err == nil {
		err = os.Truncate(last, st.Size()-bytes)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
