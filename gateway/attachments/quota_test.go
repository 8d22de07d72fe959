package attachments_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/folders"
	"parley/gateway/attachments"
)

// abuse H3: before a file is fetched somebody looks whether there is room for it, in
// the workspace and in what its sender may send.
func TestFilesForWhichThereIsNoRoomAreNotFetched(t *testing.T) {
	t.Parallel()
	const quota, full = ", not saved: this person has sent as many files as one may in a day (UTC))", ", not saved: the workspace has no room for more: files in it that are not needed can be deleted, or telegram!new begins an empty one)"
	begin := func(t *testing.T, change func(*attachments.Importer)) (send func(person, name string, said int64) string, r *fixture) {
		t.Helper()
		r = newRig(t, nil)
		r.b.Command = func(network, name string) string { return network + "!" + name }
		change(r.b)
		return func(person, name string, said int64) string {
			t.Helper()
			r.net.has(name, gives(strings.Repeat("x", 100)))
			f := file("1", name, name, "")
			f.Size = said
			got, err := r.b.Import(t.Context(), attachments.Request{ID: "m", Person: person, Workspace: r.space, Files: [][]attachments.File{{f}}})
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimPrefix(got[0][0].Line, "(attached photo "+name)
		}, r
	}
	saved := func(name string) string { return "(attached photo, saved as attachments/1-" + name + ", 100 bytes)" }
	for name, c := range map[string]struct {
		change func(*attachments.Importer)
		said   int64 // of the size, by the network
	}{
		"many":                       {func(b *attachments.Importer) { b.Config.PersonFiles = 2 }, 100},
		"large":                      {func(b *attachments.Importer) { b.Config.PersonBytes = 299 }, 100},
		"large, and nobody had said": {func(b *attachments.Importer) { b.Config.PersonBytes = 200 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			now, outcomes := time.Unix(1_800_000_000, 0), map[string]int{}
			send, r := begin(t, func(b *attachments.Importer) {
				c.change(b)
				b.Now = func() time.Time { return now }
				b.Count = func(channel, outcome string) {
					mu.Lock()
					defer mu.Unlock()
					outcomes[channel+" "+outcome]++
				}
			})
			for i, want := range []string{saved("a"), saved("b"), quota} {
				if got := send("ann", string(rune('a'+i)), c.said); got != want {
					// One whose size nobody had said is known when it has come.
					if c.said != 0 || i != 2 || got != saved("c") {
						t.Errorf("Ann's file %d: %s", i+1, got)
					}
				}
			}
			if got := send("ann", "d", max(c.said, 1)); got != quota || r.net.called("d") != 0 {
				t.Errorf("Ann's last file: %s, fetched %d times", got, r.net.called("d"))
			}
			if got := send("ben", "e", c.said); got != saved("e") {
				t.Errorf("Ben's file: %s", got)
			}
			now = now.Add(24 * time.Hour)
			if got := send("ann", "f", c.said); got != saved("f") {
				t.Errorf("Ann's file of the next day: %s", got)
			}
			if outcomes["net saved"] < 4 || outcomes["net over_quota"] < 1 {
				t.Errorf("counted %v", outcomes)
			}
		})
	}
	t.Run("counts on in the importer of a reloaded configuration", func(t *testing.T) {
		t.Parallel()
		day := &attachments.Quota{}
		send, r := begin(t, func(b *attachments.Importer) { b.Config.PersonFiles, b.Quota = 2, day })
		if got := send("ann", "a", 100); got != saved("a") {
			t.Errorf("the first file: %s", got)
		}
		b := r.b
		r.b = &attachments.Importer{Config: b.Config, Log: b.Log, Command: b.Command, Logger: b.Logger, Now: b.Now, Quota: day}
		if got := send("ann", "b", 100); got != saved("b") {
			t.Errorf("the second file: %s", got)
		}
		if got := send("ann", "c", 100); got != quota {
			t.Errorf("the third file: %s", got)
		}
	})
	for name, space := range map[string]attachments.Space{"many files": {MaxFiles: 2}, "large files": {MaxBytes: 250}} {
		t.Run(name+" in a workspace", func(t *testing.T) {
			t.Parallel()
			send, r := begin(t, func(b *attachments.Importer) { b.Space = space })
			for i, want := range []string{saved("a"), saved("b"), full} {
				if got := send("ann", string(rune('a'+i)), 100); got != want {
					t.Errorf("file %d: %s", i+1, got)
				}
			}
			if n := r.net.called("c"); n != 0 {
				t.Errorf("what has no room was fetched %d times", n)
			}
			if err := os.Remove(filepath.Join(r.space, "attachments/1-a")); err != nil {
				t.Fatal(err)
			}
			if got := send("ann", "c", 100); got != saved("c") {
				t.Errorf("when there was room again: %s", got)
			}
		})
	}
	t.Run("more folders in each other than are counted", func(t *testing.T) {
		t.Parallel()
		send, r := begin(t, func(b *attachments.Importer) { b.Space.MaxFiles = 2 })
		if err := os.MkdirAll(filepath.Join(r.space, strings.Repeat("d/", folders.MaxDepth+1)), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := send("ann", "a", 100); got != full {
			t.Errorf("the first file: %s", got)
		}
	})
}
