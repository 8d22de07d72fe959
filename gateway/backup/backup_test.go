package backup_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/gateway/backup"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var silence = slog.New(slog.DiscardHandler)

// lived is a state folder in use, with an answer that waits and a workspace.
func lived(t *testing.T) backup.Source {
	t.Helper()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "state")
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, backup.Database)})
	must(t, err)
	log, err := broker.Open(ctx, broker.Options{Dir: filepath.Join(dir, "log")})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(log.Close(context.Background()), store.Close())) })
	generation, _, err := log.Generation(ctx)
	must(t, err)
	_, err = store.StartGeneration(ctx, generation)
	must(t, err)
	_, err = store.Notice(ctx, sessions.InboxID{Channel: "telegram", Event: "1"}, []sessions.Outgoing{{ID: "waits", Channel: "tg", Text: "x", At: noon}}, noon)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "workspaces", "01A", "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "workspaces", "01A", "sub", "run.sh"), []byte("echo"), 0o700))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "workspaces", "01A", "elsewhere")))
	return backup.Source{StateDir: dir, Version: "dev", Store: store, Log: log, Now: func() time.Time { return noon }}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// publish lets somebody say something.
func publish(t *testing.T, s backup.Source) (key sessionkeys.Key, seq uint64) {
	t.Helper()
	key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "7"})
	must(t, err)
	seq, err = s.Log.Publish(t.Context(), broker.Envelope{ID: "one", Token: key.Token(), Key: key.String(), Body: json.RawMessage(`{}`)})
	must(t, err)
	return key, seq
}

// written is an archive of s.
func written(t *testing.T, s backup.Source) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "backup.zip")
	f, err := os.Create(name)
	must(t, err)
	must(t, s.Write(t.Context(), f, true))
	must(t, f.Close())
	return name
}

func restored(t *testing.T, file, dir string) error {
	t.Helper()
	a, err := backup.Open(t.Context(), file)
	if err != nil {
		return err
	}
	return errors.Join(a.Restore(t.Context(), dir, silence), a.Close())
}

func TestARestoredStateFolderIsAnOlderCopyThatKnowsIt(t *testing.T) {
	t.Parallel()
	s := lived(t)
	key, seq := publish(t, s)
	file := written(t, s)
	if _, err := os.Stat(filepath.Join(s.StateDir, "parley.db.copy")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy of the database is still there: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "new", "state")
	must(t, restored(t, file, dir))
	must(t, backup.CheckComplete(dir))

	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, backup.Database)})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	if d, err := store.Delivery(t.Context(), "waits"); err != nil || !d.MaybeDuplicate {
		t.Errorf("the answer that waited: %+v, %v; it may be a repeat", d, err)
	}
	if through, err := store.AmbiguousThrough(t.Context()); err != nil || through != seq {
		t.Errorf("in doubt is what came up to %d, not %d (%v)", through, seq, err)
	}
	log, err := broker.Open(t.Context(), broker.Options{Dir: filepath.Join(dir, "log")})
	must(t, err)
	defer func() { must(t, log.Close(context.Background())) }()
	if e, err := log.NextAtLeast(t.Context(), key.Token(), 0, seq); err != nil || e.Seq != seq {
		t.Errorf("the message is %+v, %v", e, err)
	}
	if r := log.OpenReport(); r.HasLoss() || r.Store != 0 { // else no mailbox would be compared with the log
		t.Errorf("the log is opened with %+v", r)
	}
	run := filepath.Join(dir, "workspaces", "01A", "sub", "run.sh")
	if st, err := os.Stat(run); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v", run, st, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "workspaces", "01A", "elsewhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link was followed, or kept: %v", err)
	}
}

func TestNothingIsRestoredOverAnything(t *testing.T) {
	t.Parallel()
	s := lived(t)
	file := written(t, s)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"a folder with a file":             {func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)) }, "not empty"},
		"what an interrupted restore left": {func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "restore.partial"), 0o700)) }, "not empty"},
		"an empty volume":                  {func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "lost+found"), 0o700)) }, ""},
		"an empty folder":                  {func(*testing.T, string) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.prepare(t, dir)
			err := restored(t, file, dir)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("restored with %v", err)
			}
			if err == nil {
				return
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("it left %v", left)
			}
		})
	}
	if err := restored(t, file, s.StateDir); err == nil || !strings.Contains(err.Error(), "a gateway runs on") {
		t.Errorf("below a gateway that runs: %v", err)
	}
	if err := backup.CheckComplete(filepath.Join(s.StateDir, "..")); err != nil {
		t.Error(err)
	}
	half := t.TempDir()
	must(t, os.Mkdir(filepath.Join(half, "restore.partial"), 0o700))
	if err := backup.CheckComplete(half); err == nil {
		t.Error("an interrupted restore is not noticed")
	}
}

// rewritten is a copy of an archive, of which change makes the names and contents; to drop one
// it returns "".
func rewritten(t *testing.T, file string, change func(name string, content []byte) (string, []byte)) string {
	t.Helper()
	r, err := zip.OpenReader(file)
	must(t, err)
	defer func() { _ = r.Close() }()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range r.File {
		in, err := f.Open()
		must(t, err)
		content, err := io.ReadAll(in)
		must(t, err)
		name, content := change(f.Name, content)
		if name == "" {
			continue
		}
		out, err := w.Create(name)
		must(t, err)
		_, err = out.Write(content)
		must(t, err)
	}
	must(t, w.Close())
	name := filepath.Join(t.TempDir(), "changed.zip")
	must(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

// inManifest is a change of the manifest's text.
func inManifest(old, now string) func(string, []byte) (string, []byte) {
	return func(name string, content []byte) (string, []byte) {
		if name == "manifest.json" {
			content = bytes.Replace(content, []byte(old), []byte(now), 1)
		}
		return name, content
	}
}

func TestAnArchiveThatIsNotWhatItWasIsNotRestored(t *testing.T) {
	t.Parallel()
	file := written(t, lived(t))
	known, err := sqlite.Schema()
	must(t, err)
	whole, err := os.ReadFile(file)
	must(t, err)
	cut := filepath.Join(t.TempDir(), "cut.zip")
	must(t, os.WriteFile(cut, whole[:len(whole)-100], 0o600))
	for name, c := range map[string]struct{ file, want string }{
		"cut off":    {cut, "cut off"},
		"no archive": {filepath.Join("backup_test.go"), "cut off"},
		"a changed database": {rewritten(t, file, func(name string, content []byte) (string, []byte) {
			if name == backup.Database {
				content[len(content)/2]++
			}
			return name, content
		}), "parley.db is damaged"},
		"no manifest": {rewritten(t, file, func(name string, content []byte) (string, []byte) {
			return strings.TrimSuffix(name, "manifest.json"), content
		}), "it has no manifest.json"},
		"no stream": {rewritten(t, file, func(name string, content []byte) (string, []byte) {
			return strings.TrimSuffix(name, "log/INBOUND"), content
		}), "log/INBOUND is missing"},
		"a file that leads out": {rewritten(t, file, func(name string, content []byte) (string, []byte) {
			name, content = inManifest("workspaces/01A/sub/run.sh", "workspaces/../../run.sh")(name, content)
			return strings.Replace(name, "workspaces/01A/sub/run.sh", "workspaces/../../run.sh", 1), content
		}), "has no place in a state folder"},
		"a newer database": {rewritten(t, file, inManifest(fmt.Sprintf(`"schema": %d`, known), fmt.Sprintf(`"schema": %d`, known+1))), "run a newer program"},
		"another format":   {rewritten(t, file, inManifest(`"format": 1`, `"format": 2`)), "run a newer program"},
		"another log":      {rewritten(t, file, inManifest(`"generation": "20`, `"generation": "19`)), "knows the message log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			err := restored(t, c.file, dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("restored with %v", err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder was made, and is still there: %v", err)
			}
		})
	}
}
