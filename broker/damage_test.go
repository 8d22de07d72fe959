package broker

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const inboundFiles = "jetstream/$G/streams/INBOUND"

func TestDamagedFilesAreNoticedAtOpeningAndTheRestIsKept(t *testing.T) {
	t.Parallel()
	firstBlock := filepath.Join(inboundFiles, "msgs", "1.blk")
	cases := []struct {
		name     string
		damage   func(t *testing.T, dir string)
		readable int
		lost     bool
		missing  uint64
		problem  string // the log's lines have it
		kept     bool
	}{
		{"nothing", func(*testing.T, string) {}, 50, false, 0, "", false},
		{"a bit in a message", flip(firstBlock, 2), 49, true, 1, "between messages 25 and 27", true},
		{"a bit in the first message", flip(firstBlock, 1000), 49, true, 1, "between messages 0 and 2", true},
		{"a bit in the index", flip(filepath.Join(inboundFiles, "msgs", "index.db"), 2), 50, false, 0, "", false},
		{"a bit in the stream's description", flip(filepath.Join(inboundFiles, "meta.inf"), 2), 50, true, 0, "checksums do not match", false},
		{"the end cut off", func(t *testing.T, dir string) {
			t.Helper()
			data := load(t, filepath.Join(dir, firstBlock))
			save(t, filepath.Join(dir, firstBlock), data[:len(data)-3000])
		}, 47, true, 3, "end at place 47", true},
		{"a file gone", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, firstBlock)); err != nil {
				t.Fatal(err)
			}
		}, 0, true, 50, "end at place 0", false},
		{"the stream gone", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(dir, inboundFiles)); err != nil {
				t.Fatal(err)
			}
		}, 0, true, 50, "end at place 0", false},
		{"a bit in the mark", flip(markFile, 1000), 50, false, 0, "read the log's mark", false},
	}
	for _, c := range cases {
		for _, clean := range []bool{true, false} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				fifty(t, dir)
				if !clean { // what a kill leaves: no index, and a mark that says "in use"
					_ = os.Remove(filepath.Join(dir, inboundFiles, "msgs", "index.db"))
					m, err := readMark(dir)
					if err != nil {
						t.Fatal(err)
					}
					m.Clean = false
					if err := m.write(dir); err != nil {
						t.Fatal(err)
					}
				}
				if !clean && c.name == "a bit in the index" {
					return
				}
				c.damage(t, dir)
				var lines logLines
				b := open(t, func(o *Options) { o.Dir, o.Log = dir, lines.logger() })
				r := b.OpenReport()
				if r.HasLoss() != c.lost || r.Missing != c.missing {
					t.Errorf("%+v", r)
				}
				if !lines.has(c.problem) || c.lost && !lines.has("level=ERROR") || c.name == "nothing" && len(r.Problems) > 0 {
					t.Errorf("logged %s", lines.buf.String())
				}
				if got := mailboxOf(t, b, token(1)); len(got) != c.readable {
					t.Errorf("%d messages can be read", len(got))
				}
				if files, _ := filepath.Glob(filepath.Join(dir, damagedDir, "INBOUND-1.blk-*")); (len(files) == 1) != (c.kept && (clean || c.name != "the end cut off")) {
					t.Errorf("kept %v", files)
				}
				publish(t, b, envelope(1, 1000))
			})
		}
	}
}

func TestHalfARecordAtTheEndIsNothingAfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifty(t, dir)
	name := filepath.Join(dir, inboundFiles, "msgs", "1.blk")
	data := load(t, name)
	save(t, name, append(data, data[:200]...))
	_ = os.Remove(filepath.Join(dir, inboundFiles, "msgs", "index.db"))
	m, err := readMark(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Clean = false
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	b := open(t, func(o *Options) { o.Dir = dir })
	if r := b.OpenReport(); r.HasLoss() || len(r.Problems) > 0 || r.LastSeq != 50 {
		t.Errorf("%+v", r)
	}
}

// TestAFileThatIsNotUnderstoodIsLeftAlone has what a server of another version may
// write: cutting out all that is not understood would leave nothing.
func TestAFileThatIsNotUnderstoodIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		dir := t.TempDir()
		fifty(t, dir)
		name := filepath.Join(dir, inboundFiles, "msgs", "1.blk")
		strange := load(t, name)
		for i := range strange {
			strange[i] ^= 0x55
		}
		save(t, name, strange)
		strangeToo := filepath.Join(dir, inboundFiles, "msgs", "2.blk") // the last one may end in half a record
		save(t, strangeToo, strange)
		s, err := surveyStream(dir, streamInbound, clean)
		if err != nil || !s.unreadable || s.missing != 0 || len(s.problems) == 0 || !strings.Contains(s.problems[0], "nothing in it is understood") {
			t.Errorf("%+v, %v", s, err)
		}
		for _, name := range []string{name, strangeToo} {
			if !bytes.Equal(load(t, name), strange) {
				t.Errorf("%s was changed", filepath.Base(name))
			}
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, damagedDir, "*")); len(kept) > 0 {
			t.Errorf("kept %v", kept)
		}
	}
}

// fifty leaves a closed log with 50 messages.
func fifty(t *testing.T, dir string) {
	t.Helper()
	b, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		e := envelope(1, i)
		e.Body = json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)
		publish(t, b, e)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// flip changes one bit, at a fraction of the file.
func flip(name string, fraction int) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		data := load(t, filepath.Join(dir, name))
		data[len(data)/fraction] ^= 4
		save(t, filepath.Join(dir, name), data)
	}
}

func load(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func save(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
