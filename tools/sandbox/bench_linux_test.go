//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"testing"
)

// What the walls cost: the smallest program, with and without them.
func BenchmarkTrue(b *testing.B) {
	s, err := Open(b.Context(), Config{Getenv: os.LookupEnv})
	if err != nil {
		b.Fatal(err)
	}
	ws := b.TempDir()
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("level "+string(s.Level()), func(b *testing.B) {
		for b.Loop() {
			if res, err := s.Run(b.Context(), Command{Args: []string{"/bin/true"}, Workspace: ws}); err != nil || res.Code != 0 {
				b.Fatal(res, err)
			}
		}
	})
}
