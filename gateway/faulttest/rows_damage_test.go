package faulttest_test

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/gateway/faulttest"
	"parley/sessions"
	"parley/sessions/sqlite"
)

// Some bytes of what a killed or an ended gateway left behind are changed, cut off
// or removed. What starts then either says on standard error which file is damaged
// and what to do, and ends with a status, or starts and has told; and it never
// goes on with a shorter history. (F22)
func TestADamagedFileIsSaidAtTheStart(t *testing.T) {
	t.Parallel()
	run := faulttest.Open(t, faulttest.Options{
		Engine: faulttest.Embedded(), Shape: faulttest.Shape{Conversations: 6, Messages: 3, Tools: -1, Spawns: -1},
	})
	run.Start()
	run.Drive()
	state := filepath.Join(run.Dir, "state")
	run.Process(0).Freeze()
	killed := copyTree(t, state)
	run.Process(0).Thaw()
	run.Finish()
	ended := copyTree(t, state)

	rng := run.Rand
	refused, told, harmless := 0, 0, 0
	for i := range max(faulttest.ScaledSize(20)*4, 12) {
		from := []string{killed, ended}[rng.IntN(2)]
		dir := copyTree(t, from)
		what := harm(t, rng, i, dir)
		status, said := startOn(t, run, dir)
		switch {
		case status != 0:
			refused++
			if status != 1 || !strings.Contains(said, "damaged") && !strings.Contains(said, "cannot be used") || !strings.Contains(said, dir) {
				t.Errorf("%s: status %d and no clear word: %s", what, status, said)
			}
		case strings.Contains(said, "damaged") || strings.Contains(said, "lost") || strings.Contains(said, "inconsistent") || strings.Contains(said, "changed or replaced"):
			told++
		default:
			harmless++
			t.Logf("%s: nothing is said", what)
			sameHistory(t, what, ended, dir)
		}
	}
	t.Logf("%d times refused, %d times told, %d times nothing was hurt", refused, told, harmless)
	if refused+told < 3 {
		t.Error("hardly anything was noticed")
	}
}

// harm damages one file of the state folder and says which and how.
func harm(t *testing.T, rng *rand.Rand, i int, dir string) string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"parley.db", "parley.db-wal", "log/jetstream/$G/streams/*/msgs/*.blk", "log/jetstream/$G/streams/*/meta.*", "log/mark.json"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if st, err := os.Stat(f); err == nil && st.Size() > 0 && !strings.Contains(f, "WATCH") {
				files = append(files, f)
			}
		}
	}
	slices.Sort(files)
	name := files[i%len(files)] // each in turn
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	how := []string{"a bit flipped", "cut off", "removed"}[rng.IntN(3)]
	switch how {
	case "a bit flipped":
		data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		err = os.WriteFile(name, data, 0o600)
	case "cut off":
		err = os.WriteFile(name, data[:rng.IntN(len(data))], 0o600)
	case "removed":
		err = os.Remove(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	rel, _ := filepath.Rel(dir, name)
	return rel + " " + how
}

func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "state")
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, out)
	}
	_ = os.Remove(filepath.Join(to, "admin.sock"))
	return to
}

// startOn starts the binary on a state folder, ends it when it has started, and
// gives its status and what it said.
func startOn(t *testing.T, run *faulttest.Run, dir string) (status int, said string) {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(run.Dir, "process-0.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), filepath.Join(run.Dir, "state"), dir, 1)
	path := filepath.Join(filepath.Dir(dir), "parley.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), faulttest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, faulttest.Binary(t), "run", "--config", path)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"msg":"gateway started"`) {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), all.String()
	}
	if err != nil {
		t.Fatalf("run: %v\n%s", err, all.String())
	}
	return 0, all.String()
}

// sameHistory holds what a gateway had and has of each conversation together.
func sameHistory(t *testing.T, what, before, after string) {
	t.Helper()
	was, is := historyOf(t, before), historyOf(t, after)
	for token, n := range was {
		if is[token] != n {
			t.Errorf("%s: a conversation had %d messages and has %d, and nothing was said", what, n, is[token])
		}
	}
}

func historyOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n := map[string]int{}
	if err := s.Mailboxes(t.Context(), func(m sessions.Mailbox) bool {
		ms, err := s.Messages(t.Context(), m.Session)
		if err != nil {
			t.Error(err)
		}
		n[m.Token] = len(ms)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
