package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"parley/sessions"
	"parley/sessions/sqlite"
)

// used is a closed database with a few hundred messages.
func used(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	w := newDesk(t, s, "ann")
	for i := range 40 {
		w.turn(i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// crashed is a database as a power cut leaves it: copied while it is open.
func crashed(t *testing.T) string {
	t.Helper()
	return torn(t, "", "-wal", ".lock")
}

// killed is one as kill -9 leaves it.
func killed(t *testing.T) string {
	t.Helper()
	return torn(t, "", "-wal", "-shm", ".lock")
}

func torn(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	s := openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	w := newDesk(t, s, "ann")
	for i := range 40 {
		w.turn(i)
	}
	for _, end := range files {
		copyFile(t, w.path(s)+end, filepath.Join(dir, "parley.db"+end))
	}
	return filepath.Join(dir, "parley.db")
}

// copied is a database like that one, for a test of its own.
func copied(t *testing.T, from string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.db")
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		if _, err := os.Stat(from + end); err == nil {
			copyFile(t, from+end, path+end)
		}
	}
	return path
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// edit changes a file in place.
func edit(t *testing.T, path string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a test file
	for _, q := range queries {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADatabaseThatCannotBeTrustedIsNotOpened(t *testing.T) {
	t.Parallel()
	frame := 24 + 4096
	used, crashed, killed := used(t), crashed(t), killed(t)
	tests := map[string]struct {
		made string
		harm func(t *testing.T, path string)
		says string
	}{
		"not a database": {used, func(t *testing.T, path string) {
			edit(t, path, func([]byte) []byte { return []byte(strings.Repeat("hello ", 100)) })
		}, "not a SQLite database"},
		"a few bytes": {used, func(t *testing.T, path string) {
			edit(t, path, func(b []byte) []byte { return b[:50] })
		}, "too short"},
		"cut off": {used, func(t *testing.T, path string) {
			edit(t, path, func(b []byte) []byte { return b[:len(b)/2] })
		}, "cut off"},
		"empty": {used, func(t *testing.T, path string) {
			edit(t, path, func([]byte) []byte { return nil })
		}, "empty although it was used"},
		"missing": {used, func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "missing although it was used"},
		"a newer version": {used, func(t *testing.T, path string) {
			exec(t, path, "INSERT INTO schema_version VALUES (999, 0)")
		}, "run a newer program"},
		"another program's": {used, func(t *testing.T, path string) {
			exec(t, path, "PRAGMA application_id = 7")
		}, "belongs to another program"},
		"another program's without a name": {used, func(t *testing.T, path string) {
			exec(t, path, "PRAGMA application_id = 0")
		}, "belongs to another program"},
		"schema page flipped": {used, func(t *testing.T, path string) {
			edit(t, path, func(b []byte) []byte { copy(b[100:], "\xff\xff\xff\xff\xff\xff\xff\xff"); return b })
		}, "malformed"},
		"tree pages flipped before a crash": {crashed, func(t *testing.T, path string) {
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, path, func(b []byte) []byte {
				for p := 4096; p < len(b); p += 4096 { // all but the first
					b[p] ^= 0x55
				}
				return b
			})
			if err := os.WriteFile(path+".lock", []byte("running"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "malformed"},
		"log missing after a crash": {crashed, func(t *testing.T, path string) {
			if err := os.Remove(path + "-wal"); err != nil {
				t.Fatal(err)
			}
		}, "is missing"},
		"log header broken after a crash": {crashed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func(b []byte) []byte { b[17] ^= 1; return b })
		}, "writes that were answered are missing"},
		"log broken in the middle after a crash": {crashed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func(b []byte) []byte { b[32+frame*(len(b)/frame/2)+500] ^= 1; return b })
		}, "writes that were answered are missing"},
		"log cut off by a commit after a kill": {killed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func(b []byte) []byte { return b[:len(b)-frame] })
		}, "writes that were answered are missing"},
		"a bit in the last commit of the log after a kill": {killed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func(b []byte) []byte { b[len(b)-100] ^= 1; return b })
		}, "writes that were answered are missing"},
		"log emptied after a kill": {killed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func([]byte) []byte { return nil })
		}, "writes that were answered are missing"},
		"log emptied after a crash": {crashed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func([]byte) []byte { return nil })
		}, "writes that were answered are missing"},
		"all after the log's first commits put back from before": {killed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func(b []byte) []byte { return b[:32+frame*(len(b)/frame/3)] })
		}, "writes that were answered are missing"},
		"the salts of a frame in the middle": {crashed, func(t *testing.T, path string) {
			edit(t, path+"-wal", func(b []byte) []byte { b[32+frame*(len(b)/frame/2)+8] ^= 1; return b })
		}, "writes that were answered are missing"},
		"a closed file, a bit in what somebody said": {used, func(t *testing.T, path string) {
			edit(t, path, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hello"), []byte("hellm")) })
		}, "was changed"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := copied(t, c.made)
			c.harm(t, path)
			before := snapshotFiles(t, path)
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			if err == nil {
				_ = s.Close()
				t.Fatal("it was opened")
			}
			if !errors.Is(err, sessions.ErrDamaged) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore a backup") {
				t.Fatalf("the error does not say what is wrong, where, and what to do: %v", err)
			}
			if _, again := sqlite.Open(t.Context(), sqlite.Options{Path: path}); !errors.Is(again, sessions.ErrDamaged) || !strings.Contains(again.Error(), c.says) {
				t.Errorf("the next opening says: %v", again)
			}
			if name != "tree pages flipped before a crash" && snapshotFiles(t, path) != before {
				t.Error("something was changed")
			}
		})
	}
}

func snapshotFiles(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	for _, end := range []string{"", "-wal", ".lock"} {
		f, err := os.Open(path + end)
		if err != nil {
			continue
		}
		if _, err := io.Copy(&all, f); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	return all.String()
}

// TestATornTailOfTheLogIsNotDamage damages what a crash may leave of a commit that
// was not answered: the note in the lock file is of the one before.
func TestATornTailOfTheLogIsNotDamage(t *testing.T) {
	t.Parallel()
	made := crashed(t)
	edit(t, made+".lock", func(b []byte) []byte {
		state, commits, _ := strings.Cut(string(b), " ")
		n, err := strconv.Atoi(commits)
		if err != nil || n == 0 {
			t.Fatalf("the lock file says %q", b)
		}
		return fmt.Appendf(nil, "%s %020d", state, n-1)
	})
	for name, tear := range map[string]func(b []byte) []byte{
		"cut within the last frame": func(b []byte) []byte { return b[:len(b)-100] },
		"last frame never arrived":  func(b []byte) []byte { b[len(b)-100] ^= 1; return b },
		"a tail of an older log":    func(b []byte) []byte { return append(b, make([]byte, 24+4096)...) },
		"half a frame more":         func(b []byte) []byte { return append(b, b[32:2000]...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := copied(t, made)
			edit(t, path+"-wal", tear)
			s := openAt(t, path)
			if err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestANoteOfAnswersThatSaysNothingStopsNobody opens what an older program left, or a
// crash of the system that came while the note was being written.
func TestANoteOfAnswersThatSaysNothingStopsNobody(t *testing.T) {
	t.Parallel()
	made := crashed(t)
	for _, text := range []string{"running", "running ", "running 000", "running 0000000000\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} {
		path := copied(t, made)
		edit(t, path+".lock", func([]byte) []byte { return []byte(text) })
		if err := openAt(t, path).Check(t.Context()); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAHistoryIsNeverSilentlyShorter(t *testing.T) {
	t.Parallel()
	made := used(t)
	for name, c := range map[string]struct {
		harm []string
		read bool // reading the history notices it, too
	}{
		"last message removed":   {[]string{"DELETE FROM messages WHERE id = 'turn-0-answer'"}, true},
		"first message removed":  {[]string{"DELETE FROM messages WHERE id = 'turn-0-said'"}, true},
		"a message changed":      {[]string{"UPDATE messages SET parts = CAST(replace(CAST(parts AS TEXT), 'hello', 'jello') AS BLOB) WHERE id = 'turn-0-said'"}, true},
		"a sum changed":          {[]string{"UPDATE sessions SET subtree = subtree + 1"}, false},
		"a total changed":        {[]string{"UPDATE totals SET amount = amount - 1"}, false},
		"a hold forgotten":       {[]string{"UPDATE sessions SET held = 5"}, false},
		"a ledger row removed":   {[]string{"DROP TRIGGER ledger_delete", "DELETE FROM ledger WHERE no = 1"}, false},
		"a ledger row rewritten": {[]string{"DROP TRIGGER ledger_update", "UPDATE ledger SET entry = json_set(entry, '$.amount', 1)"}, false},
		"a price removed":        {[]string{"DROP TRIGGER prices_delete", "DELETE FROM prices"}, false},
		"an open turn forgotten": {[]string{"UPDATE turns SET state = 'open' WHERE id = 'turn-0'"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := copied(t, made)
			exec(t, path, append([]string{"PRAGMA foreign_keys = OFF"}, c.harm...)...)
			var said bytes.Buffer
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Log: slog.New(slog.NewTextHandler(&said, nil))})
			switch {
			case c.read && !errors.Is(err, sessions.ErrDamaged):
				t.Fatalf("Open: %v", err)
			case !c.read && (err != nil || !strings.Contains(said.String(), "level=ERROR") || !strings.Contains(said.String(), "changed or replaced")):
				t.Fatalf("Open: %v\n%s", err, said.String())
			case err == nil:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			s, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, CheckSize: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // a damaged file
			if err := s.Check(t.Context()); !errors.Is(err, sessions.ErrDamaged) {
				t.Fatalf("Check: %v", err)
			}
			w := newDesk(t, s, "bob")
			_, err = s.Messages(t.Context(), w.session())
			if c.read && !errors.Is(err, sessions.ErrDamaged) {
				t.Fatalf("Messages: %v", err)
			}
		})
	}
}

// A flipped bit in what a row says is found as one in its numbers is: it is said,
// and does not fail the look through the file. (F22)
func TestARowOfTheLedgerThatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	path := used(t)
	exec(t, path, "DROP TRIGGER ledger_update", "UPDATE ledger SET entry = replace(entry, '}', '|') WHERE no = 3")
	s := openAt(t, path)
	if err := s.Check(t.Context()); !errors.Is(err, sessions.ErrDamaged) || !strings.Contains(err.Error(), "ledger rows that were changed") {
		t.Errorf("the check says %v", err)
	}
}

func TestTheLedgerCanOnlyBeAddedTo(t *testing.T) {
	t.Parallel()
	path := used(t)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a test file
	for _, q := range []string{
		"UPDATE ledger SET amount = 0", "DELETE FROM ledger", "INSERT OR REPLACE INTO ledger SELECT * FROM ledger",
		"UPDATE prices SET body = '{}'", "DELETE FROM prices", "INSERT OR REPLACE INTO prices SELECT * FROM prices",
	} {
		if _, err := db.ExecContext(context.Background(), q); err == nil {
			t.Errorf("%s was not refused", q)
		}
	}
}
