package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// Through the real binary: a gateway is backed up while it runs, its state folder is lost and
// restored, and the conversation goes on.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	dir := filepath.Dir(config)
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "backup.zip")
	shared := filepath.Join(dir, "shared.yaml")
	if err := os.WriteFile(shared, []byte("state_dir: elsewhere\nstore: {redis: {url: \"redis://127.0.0.1:1\"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, said := asked(t, "restore", "-c", shared, file); status != exitFailed || !strings.Contains(said, "store.redis of this configuration is elsewhere") {
		t.Errorf("where conversations are in Redis: %d %q", status, said)
	}
	if status, _, said := asked(t, "backup", "-c", config, file); status != exitNobody || !strings.Contains(said, "no gateway runs on") {
		t.Errorf("without a gateway: %d %q", status, said)
	}
	p := start(t, environment, "run", "--config", config)
	say(t, tg, "before the backup")
	await(t, tg, "the answer", answer("before the backup"))
	settled(t, config)
	golden(t, "backup", strings.ReplaceAll(saidOf(t, "backup", "-c", config, file), dir, "/dir"), `
/dir/backup.zip: database, message log and no workspaces (SIZE), of TIME.
To make a state folder of it: parley restore /dir/backup.zip
`)
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", st, err)
	}
	if status, _, said := asked(t, "backup", "-c", config, file); status != exitFailed || !strings.Contains(said, "backup.zip: file already exists: name another file") {
		t.Errorf("over a file: %d %q", status, said)
	}
	if out := saidOf(t, "backup", "-c", config, "--workspaces", dir); !strings.Contains(out, dir+"/parley-2") || !strings.Contains(out, "message log and workspaces") {
		t.Errorf("into a folder: %q", out)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, ".*")); len(found) != 0 {
		t.Errorf("left behind: %v", found)
	}
	if status, _, said := asked(t, "restore", "-c", config, file); status != exitFailed || !strings.Contains(said, "a gateway runs on") {
		t.Errorf("below a gateway: %d %q", status, said)
	}
	if status := p.end(syscall.SIGKILL); status == exitOK {
		t.Error("it was not killed")
	}
	if status, _, said := asked(t, "restore", "-c", config, file); status != exitFailed || !strings.Contains(said, "not empty") {
		t.Errorf("over a state folder: %d %q", status, said)
	}
	cost := func() string { return saidOf(t, "usage", "-c", config, "--format", "csv") }
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	golden(t, "restore --check", strings.ReplaceAll(saidOf(t, "restore", "--check", file), dir, "/dir"), `
/dir/backup.zip: complete. It holds database, message log and no workspaces (SIZE), of TIME.
`)
	golden(t, "restore", saidOf(t, "restore", "-c", config, file), `
/state holds database, message log and no workspaces (SIZE), of TIME.
When the gateway starts, it answers what was unanswered then, and marks these answers as possible repeats.
`)
	p = start(t, environment, "run", "--config", config)
	p.err.awaitLines(t, 1, "gateway started")
	if used := cost(); strings.Count(used, "\n") != 2 || !strings.Contains(used, "demo,1,") {
		t.Errorf("the ledger after it: %q", used)
	}
	say(t, tg, "after the restore")
	await(t, tg, "the next answer", answer("after the restore"))
	if n := strings.Count(strings.Join(texts(tg.Books()), "\n"), "before the backup"); n != 1 {
		t.Errorf("what was answered before the backup is said %d times", n)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("it ended with %d: %s", status, p.err.String())
	}
	if said := p.err.String(); strings.Contains(said, `"level":"ERROR"`) {
		t.Errorf("it says after an orderly backup:\n%s", said)
	}
}

// texts are what chats show.
func texts(b telegram.Book) (all []string) {
	for _, m := range b.Messages {
		all = append(all, m.Text())
	}
	return all
}
