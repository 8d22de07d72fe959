//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// written calls f once when a program says that it has written.
type written struct {
	f func()
}

func (w *written) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "written") {
		w.f()
	}
	return len(p), nil
}

// Security 3.1: a program that fills the disk is killed, and what it has written stays bounded.
func TestSpace(t *testing.T) {
	s := walled(t)
	const fill = "head -c 3000000 /dev/zero > "
	deep := "for i in $(seq 30); do mkdir " + strings.Repeat("d", 200) + " && cd d*; done;"
	private := "f; echo written; sleep 60"
	if s.Level() == LevelB { // /tmp is a folder on the disk
		private = "$TMPDIR/f; echo written; sleep 60"
	}
	for name, c := range map[string]struct {
		script string
		before int // bytes in the workspace
		space  int64
		want   string // what takes too much; "": nothing does
	}{
		"a workspace that is filled":          {fill + "f; echo written; sleep 60", 0, 1 << 20, "the workspace"},
		"in a folder below":                   {"mkdir -p a/b;" + fill + "a/b/f; echo written; sleep 60", 0, 1 << 20, "the workspace"},
		"where the system has no name for it": {deep + fill + "f; echo written; sleep 60", 0, 1 << 20, "the workspace"},
		"a workspace with room":               {fill + "f; echo written", 0, 8 << 20, ""},
		"a full one that does not grow":       {"echo written; cat f | wc -c > /dev/null", 3 << 20, 2 << 20, ""},
		"a full one that grows":               {fill + "g; echo written; sleep 60", 3 << 20, 2 << 20, "the workspace"},
		"one that is far too full":            {"echo written", 3 << 20, 1 << 20, "the workspace"},
		"a workspace without a bound":         {fill + "f; echo written", 0, 0, ""},
		"temporary files, where on the disk":  {fill + private, 0, 0, "its temporary files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want == "its temporary files" && s.Level() != LevelB {
				t.Skipf("at level %s temporary files are in memory; TestWorlds runs this at level B", s.Level())
			}
			tick := make(chan time.Time, 1)
			s := with(s, func(o *Config) {
				o.Scratch = 1 << 20
				o.After = func(time.Duration) <-chan time.Time { return tick }
			})
			_, _, err := sh(t, s, c.script, func(cmd *Command) {
				cmd.Space = c.space
				cmd.Stdout = &written{f: func() { tick <- time.Time{} }}
				if c.before > 0 {
					if err := os.WriteFile(cmd.Workspace+"/f", make([]byte, c.before), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			})
			full, ok := errors.AsType[*SpaceError](err)
			if ok != (c.want != "") || ok && full.What != c.want || !ok && err != nil {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
		})
	}
}
