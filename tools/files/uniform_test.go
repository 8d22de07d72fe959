package files_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/tools"
)

// changers and lookers are the tools, each with arguments that it takes.
func lookers() map[string]map[string]any {
	return map[string]map[string]any{
		"read_file": {}, "view": {}, "list_directory": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "x"}, "send_file": {},
	}
}

func changers() map[string]map[string]any {
	return map[string]map[string]any{
		"write_file": {"content": "z", "create_parents": true}, "edit_file": {"old_text": "a", "new_text": "b"}, "delete_file": {},
	}
}

const outOfReach = "path not allowed: only regular files and folders of the workspace can be reached"

// abuse L12, L13: whatever lies outside or is denied, whether it is there or not and
// whatever it is, every tool says the same, and nobody is asked about it before.
func TestEveryToolRefusesWhatIsOutOfReachInTheSameWords(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, to := range map[string]string{
		"to-file": filepath.Join(h.out, "secret"), "to-folder": h.out, "to-nothing": filepath.Join(h.out, "none"), "to-denied": "private",
		"to-key": "private/key", "to-none": "private/none", "round": "round", "to-device": "/dev/zero", "to-proc": "/proc/self",
	} {
		if err := os.Symlink(to, filepath.Join(h.ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(h.ws, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 300)
	for _, path := range []string{
		"../out/secret", "../out/none", "../out", "../out/", "../out/secret/", "../out/secret/x", "../out/none/x", "../ws-evil/f", "..", "/",
		"~", "~/x", "file:///etc/passwd", `\\srv\x`, "a\nb", strings.Repeat("x/", 2100), "../" + long, "private/" + long, "to-folder/" + long,
		"/etc/passwd", "/etc/none", "/proc/self/environ", "../out/.env", "../out/CLAUDE.md", "/etc/.git/config", filepath.Join(h.out, "secret"),
		"to-file", "to-file/", "to-file/x", "to-folder", "to-folder/", "to-folder/secret", "to-folder/none", "to-folder/none/x", "to-nothing", "to-nothing/x",
		"to-denied", "to-denied/", "to-denied/key", "to-denied/none", "to-denied/none/x", "to-key", "to-key/x", "to-none", "round", "round/x",
		"to-device", "to-device/x", "to-proc/environ", "pipe",
		"private", "private/", "private/key", "private/key/x", "private/none", "private/none/x", "sub/../private/key", "a.txt/../../out/secret",
	} {
		for tool, args := range lookers() {
			h.refuses(t, tool, path, args)
		}
		for tool, args := range changers() {
			if path == "pipe" && tool == "write_file" || strings.HasPrefix(path, "to-") && !strings.Contains(path, "/") && tool == "delete_file" {
				continue // they change what has the name, and not what it leads to
			}
			h.refuses(t, tool, path, args)
		}
	}
	h.untouched(t)
}

func (h fixture) refuses(t *testing.T, tool, path string, args map[string]any) {
	t.Helper()
	args["path"] = path
	_, err := use(t, h.config(), h.ws, tool, args)
	if err == nil || err.Error() != outOfReach {
		t.Errorf("%s %.40q: %v", tool, path, err)
	}
	if _, asked := changers()[tool]; !asked {
		return
	}
	raw, jerr := json.Marshal(args)
	if jerr != nil {
		t.Fatal(jerr)
	}
	if cat := lookup(t, h.config(), tool).Category(tools.Call{Name: tool, Arguments: raw, Workspace: h.ws}); cat == tools.Admin {
		t.Errorf("%s %.40q: somebody is asked about it", tool, path)
	}
}

// abuse L13: of a path below a file all that look say the same.
func TestEveryToolThatLooksSaysTheSameOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, path := range []string{"none", "none/x", "a.txt/x", "sub/none", "sub/deep/f/x", filepath.Join(h.agent, "t.txt/x"), filepath.Join(h.agent, "none")} {
		for tool, args := range lookers() {
			args["path"] = path
			if _, err := use(t, h.config(), h.ws, tool, args); err == nil || err.Error() != "not found" {
				t.Errorf("%s %s: %v", tool, path, err)
			}
		}
	}
}

// A folder shows what is denied by no name of its own either.
func TestAListDoesNotShowWhatIsDeniedByAnotherNameOfItsFolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setUp(t, "symlink again -> .")
	for _, folder := range []string{".", "again"} {
		got, err := use(t, h.config(), h.ws, "list_directory", map[string]any{"path": folder})
		if err != nil || strings.Contains(got, "private") || !strings.Contains(got, "a.txt") {
			t.Errorf("%s shows %q, %v", folder, got, err)
		}
	}
}
