package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools"
	"parley/tools/files"
)

// writable returns a configuration in which the fixture's outside folder "agent" may be changed.
func (h fixture) writable() files.Config {
	return files.Config{WritableRoots: []string{h.agent}, Denied: []string{filepath.Join(h.agent, "locked")}}
}

// I02: a writable root is read and changed as the workspace is, and what is out of reach in a
// root is so here: keys, what is denied, links that lead out, files with another name.
func TestWritableRoots(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	in := func(name string) string { return filepath.Join(h.agent, name) }
	h.write(t, in("locked/f"), "L\n")
	h.write(t, in(".ssh/config"), "K\n")
	for name, to := range map[string]string{"out": h.out, "in": "locked", "file": filepath.Join(h.out, "secret")} {
		if err := os.Symlink(to, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(h.out, "secret"), in("linked")); err != nil {
		t.Fatal(err)
	}
	call := with(t, h.writable())
	do := func(tool, path string) string {
		t.Helper()
		args := map[string]any{"path": path}
		switch tool {
		case "write_file":
			args["content"], args["create_parents"] = "new\n", true
		case "edit_file":
			args["old_text"], args["new_text"] = "new", "edited"
		}
		_, err := call(t, h.ws, tool, args)
		return verdict(err)
	}
	for _, c := range []struct{ tool, path, want string }{
		{"write_file", "made/n.txt", "allow"},
		{"read_file", "made/n.txt", "allow"},
		{"edit_file", "made/n.txt", "allow"},
		{"delete_file", "made/n.txt", "allow"},
		{"write_file", "t.txt", "allow"},
		{"list_directory", "", "allow"},
		{"write_file", "locked/f", "deny"},
		{"edit_file", "locked/f", "deny"},
		{"delete_file", "locked/f", "deny"},
		{"write_file", "locked/new", "deny"},
		{"write_file", ".ssh/config", "deny"},
		{"write_file", ".ssh/authorized_keys", "deny"},
		{"write_file", "x/.aws/credentials", "deny"},
		{"delete_file", ".ssh/config", "deny"},
		{"write_file", "out/secret", "deny"},
		{"delete_file", "out/secret", "deny"},
		{"write_file", "out/new", "deny"},
		{"write_file", "in/new", "deny"},
		{"write_file", "file", "deny"},
		{"delete_file", "file", "deny"},
		{"write_file", "../out/secret", "deny"},
		{"write_file", ".", "deny"},
		{"edit_file", "linked", "deny"},
		{"read_file", "linked", "deny"},
	} {
		if got := do(c.tool, strings.TrimSuffix(h.agent+"/"+c.path, "/")); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.path, got, c.want)
		}
	}
	if b, err := os.ReadFile(in("locked/f")); err != nil || string(b) != "L\n" {
		t.Errorf("what is denied: %q, %v", b, err)
	}
	if b, err := os.ReadFile(in(".ssh/config")); err != nil || string(b) != "K\n" {
		t.Errorf("a key: %q, %v", b, err)
	}
	h.untouched(t)
}

// What lies in the roots that are to be read is never changed.
func TestOtherRootsAreNotWritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.config()
	c.WritableRoots = []string{filepath.Join(h.ws, "sub")}
	call := with(t, c)
	for tool, args := range map[string]map[string]any{
		"write_file": {"content": "x"}, "edit_file": {"old_text": "T", "new_text": "x"}, "delete_file": {},
	} {
		args["path"] = h.agent + "/t.txt"
		if _, err := call(t, h.ws, tool, args); verdict(err) != "deny" {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if b, err := os.ReadFile(h.agent + "/t.txt"); err != nil || string(b) != "T\n" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

// A person is asked about files that other programs trust in a writable root, too.
func TestTrustedNamesInWritableRoots(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for path, want := range map[string]tools.Category{
		h.agent + "/notes.md": tools.Write, h.agent + "/.git/hooks/pre-commit": tools.Admin, h.agent + "/a/AGENTS.md": tools.Admin,
		h.out + "/AGENTS.md": tools.Write, // which Run refuses
	} {
		if got := category(t, h.writable(), "write_file", h.ws, path); got != want {
			t.Errorf("%s is of category %s", path, got)
		}
	}
	if err := os.Symlink(".git", h.agent+"/git"); err != nil {
		t.Fatal(err)
	}
	h.write(t, h.agent+"/.git/config", "C\n")
	if _, err := use(t, h.writable(), h.ws, "write_file", map[string]any{"path": h.agent + "/git/config", "content": "x"}); err == nil || !strings.Contains(err.Error(), "by a link") {
		t.Errorf("by a link: %v", err)
	}
}

// S6.12, in a writable root.
func TestAFolderOfAWritableRootThatTurnsIntoALinkLetsNothingOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	shared := h
	shared.ws = h.agent
	stop := shared.flipFolder(t, "race")
	call := with(t, h.writable())
	seen := map[string]int{}
	for range rounds(t, seen, "write_file") {
		for _, c := range []struct {
			tool string
			args map[string]any
		}{
			{"write_file", map[string]any{"path": h.agent + "/race/secret", "content": "INSIDE"}},
			{"write_file", map[string]any{"path": h.agent + "/race/made/new", "content": "x", "create_parents": true}},
			{"edit_file", map[string]any{"path": h.agent + "/race/secret", "old_text": "S", "new_text": "$", "replace_all": true}},
			{"delete_file", map[string]any{"path": h.agent + "/race/secret"}},
		} {
			_, err := call(t, h.ws, c.tool, c.args)
			seen[c.tool+" "+verdict(err)]++
		}
	}
	stop()
	t.Log(seen)
	h.untouched(t)
}
