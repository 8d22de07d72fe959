package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/sqlite"

	"go.uber.org/goleak"
)

// childPath tells the test binary that it is the process to be killed.
const childPath = "PARLEY_TEST_SQLITE_CHILD"

// longTests makes the race detector's run as long as the other one: set it to 1.
// Every case runs either way; random ones are tried more often.
const longTests = "PARLEY_LONG"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		os.Exit(beKilled(path))
	}
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if short() && !asked {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

func short() bool { return underRace && os.Getenv(longTests) == "" }

// fewer is n, or a part of it where the detector makes each one slow.
func fewer(n, brief int) int {
	if short() {
		return brief
	}
	return n
}

// beKilled writes from several goroutines and says what was answered, until
// somebody kills it.
func beKilled(path string) int {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", g, i)
				_, err := s.Notice(ctx, sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "c", Event: id}, []sessions.Outgoing{{ID: id, Channel: "tg", Text: id, At: noon}}, noon)
				if err != nil {
					return
				}
				mu.Lock()
				fmt.Println(id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return 0
}

func TestWhatWasAnsweredSurvivesKill9(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	acknowledged := map[string]bool{}
	for round := range 4 {
		for id := range killAfter(t, fmt.Sprintf("%s-%d", path, round), fewer(200, 60)+round*fewer(150, 40)) {
			acknowledged[fmt.Sprint(round, "/", id)] = true
		}
		s := openAt(t, fmt.Sprintf("%s-%d", path, round))
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		ds, err := s.Pending(t.Context(), "tg", 0, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			delete(acknowledged, fmt.Sprint(round, "/", d.ID))
		}
	}
	if len(acknowledged) > 0 {
		t.Fatalf("%d answered writes are lost: %v", len(acknowledged), acknowledged)
	}
}

// killAfter kills a process with SIGKILL after it said n lines, and returns all
// that it said.
func killAfter(t *testing.T, path string, n int) map[string]bool {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // killed; a line without its end was not said
		}
		said[strings.TrimSpace(line)] = true
		if len(said) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(said) < n {
		t.Fatalf("the process was not killed: %v, after %d lines", err, len(said))
	}
	return said
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Fatalf("a second opening in this process: %v", err)
	}
	cmd := osexec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path)
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), "another process has it open") || !strings.Contains(string(out), "end the other one") {
		t.Fatalf("a second process: %v: %s", err, out)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}

func TestAClosedDatabaseIsFreeAlthoughAProcessIsStarting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	// A child between fork and exec has a copy of every file, as this one has.
	held, err := s.DupLock()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close() //nolint:errcheck // nothing was written
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
}

func TestTheFilesAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "parley.db")
	s := openAt(t, path)
	newDesk(t, s, "ann").turn(0)
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		st, err := os.Stat(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s%s has mode %v", path, end, st.Mode())
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	openAt(t, path)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestAPathMayHoldAnyCharacters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%41", "par ley?x=1.db")
	newDesk(t, openAt(t, path), "ann").turn(0)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

func TestEverythingIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	path := used(t)
	s := openAt(t, path)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, s, "ann")
	ms, err := s.Messages(t.Context(), d.session())
	if err != nil || len(ms) != 80 {
		t.Fatalf("%d messages, %v", len(ms), err)
	}
	if _, highest, err := s.Generation(t.Context()); err != nil || highest != 40 {
		t.Fatalf("highest %d, %v", highest, err)
	}
	d.turn(40)
}

func TestAClosedStoreAnswersThatItIsClosed(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Heartbeat(t.Context(), sessions.Worker{Name: "a", Nonce: "b"}, noon); err == nil {
		t.Error("written after Close")
	}
	if _, err := s.Totals(t.Context()); err == nil {
		t.Error("read after Close")
	}
}

func TestCloseAnswersEveryWaitingWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	started := make(chan struct{}, 64)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var done []string
	for g := range 64 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", g, i)
				_, err := s.Notice(t.Context(), sessions.InboxID{}, []sessions.Outgoing{{ID: id, Channel: "tg", At: noon}}, noon)
				if err != nil {
					return
				}
				mu.Lock()
				done = append(done, id)
				mu.Unlock()
				if i == 0 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 64 {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	s = openAt(t, path)
	for _, id := range done {
		if _, err := s.Delivery(t.Context(), id); err != nil {
			t.Fatalf("%s was answered: %v", id, err)
		}
	}
}

func TestACallerWhoLeavesEarlyHarmsNobody(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel()
				}
				id := fmt.Sprintf("%d-%d", g, i)
				_, err := s.Notice(ctx, sessions.InboxID{}, []sessions.Outgoing{{ID: id, Channel: "tg", At: noon}}, noon)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
				if _, err := s.Delivery(t.Context(), id); i%2 == 1 && err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSixtyFourConversationsAtOnce(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	turns := fewer(5, 2)
	var wg sync.WaitGroup
	for g := range 64 {
		d := deskAt(t, s, "ann", fmt.Sprint("chat-", g))
		wg.Go(func() {
			for i := range turns {
				d.named(fmt.Sprintf("turn-%d-%d", g, i), uint64(i)+1)
				if ms, err := s.Messages(t.Context(), d.session()); err != nil || len(ms) != 2*(i+1) {
					t.Errorf("%d messages after turn %d: %v", len(ms), i, err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ts, err := s.Totals(t.Context())
	if err != nil || len(ts) != 1 || ts[0].Calls != int64(64*turns) || ts[0].Amount != costs.Amount(64*turns*40) {
		t.Fatalf("%+v, %v", ts, err)
	}
}
