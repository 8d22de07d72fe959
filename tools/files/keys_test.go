package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools/files"
)

// home is an operator's root in which there is more than was meant.
func (h fixture) home(t *testing.T) (root string, c files.Config) {
	t.Helper()
	top := filepath.Dir(h.ws)
	root = filepath.Join(top, "home")
	for _, path := range []string{
		"notes", "ann/.ssh/id", "ann/.gnupg/x", "ann/.aws/credentials", "ann/.azure/x", "ann/.kube/config", "ann/.docker/config.json",
		"ann/.config/gcloud/x", "ann/keys/id_rsa", "ann/.config/notes", "parley/parley.yaml", "parley/state/parley.db",
	} {
		h.write(t, filepath.Join(root, path), "needle of "+path+"\n")
	}
	for name, to := range map[string]string{"to-ssh": "ann/.ssh", "to-id": "ann/.ssh/id", "to-state": "parley/state", "to-configuration": "parley/parley.yaml"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	private := []string{filepath.Join(root, "parley", "state"), filepath.Join(root, "parley", "parley.yaml")}
	return root, files.Config{ExtraRoots: []string{root}, Private: private, AllowHardlinks: true}
}

// I02, TS18, TS19: what holds keys, and what is the gateway's own, is out of reach in a root
// of the operator's, whether it is there or not, in the same words as what lies outside.
func TestKeysAreOutOfReachInExtraRoots(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	root, c := h.home(t)
	for _, path := range []string{
		"ann/.ssh", "ann/.ssh/id", "ann/.ssh/none", "ann/.ssh/none/x", "ann/../ann/.ssh/id", "ann/.gnupg/x", "ann/.aws/credentials", "ann/.azure/x",
		"ann/.kube/config", "ann/.docker/config.json", "ann/.config/gcloud/x", "ann/keys/id_rsa", "ben/.ssh/id", "parley/parley.yaml", "parley/state",
		"parley/state/parley.db", "parley/state/none", "to-ssh", "to-ssh/id", "to-ssh/none", "to-id", "to-state/parley.db", "to-configuration",
	} {
		for _, all := range []map[string]map[string]any{lookers(), changers()} {
			for tool, args := range all {
				args["path"] = filepath.Join(root, path)
				if got, err := use(t, c, h.ws, tool, args); err == nil || err.Error() != outOfReach {
					t.Errorf("%s %s: %q, %v", tool, path, got, err)
				}
			}
		}
	}
	for _, path := range []string{"notes", "ann/.config/notes"} {
		if got, err := use(t, c, h.ws, "read_file", map[string]any{"path": filepath.Join(root, path)}); err != nil || got != "needle of "+path+"\n" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for tool, args := range map[string]map[string]any{"list_directory": {"path": root + "/ann"}, "glob": {"pattern": "**", "path": root}, "grep": {"pattern": "needle", "path": root}} {
		got, err := use(t, c, h.ws, tool, args)
		if err != nil || !strings.Contains(got, "ann") && !strings.Contains(got, "keys") {
			t.Errorf("%s: %q, %v", tool, got, err)
		}
		for _, no := range []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "gcloud", "id_rsa", "parley.db", "parley.yaml"} {
			if strings.Contains(strings.ReplaceAll(got, "to-ssh", ""), no) {
				t.Errorf("%s shows %s: %q", tool, no, got)
			}
		}
	}
}

// I03: places that hold keys on any machine, and /proc, by any root around them.
func TestPlacesOfKeysAreOutOfReach(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := files.Config{ExtraRoots: []string{"/etc", "/run", "/var"}}
	for _, path := range []string{"/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/x", "/etc/ssh/ssh_host_rsa_key", "/run/secrets/x", "/var/run/secrets/x"} {
		if _, err := use(t, c, h.ws, "read_file", map[string]any{"path": path}); err == nil || err.Error() != outOfReach {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, root := range []string{"/proc", "/proc/self", "/etc/ssh", "/home/ann/.ssh", "/home/ann/.ssh/keys", "/srv/../home/ann/.aws"} {
		if _, err := files.New(files.Config{ExtraRoots: []string{root}}); err == nil || !strings.Contains(err.Error(), "always out of reach") {
			t.Errorf("root %s: %v", root, err)
		}
	}
}

// The workspace lies in the gateway's own folder, and is the session's own: what has a name
// of those that hold keys is in reach there.
func TestAWorkspaceInsideOfWhatIsPrivateIsInReach(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	root, c := h.home(t)
	c.Private = append(c.Private, filepath.Dir(h.ws))
	h.write(t, filepath.Join(h.ws, ".docker/compose"), "D\n")
	for path, want := range map[string]string{".docker/compose": "D\n", filepath.Join(h.ws, "a.txt"): "A\n"} {
		if got, err := use(t, c, h.ws, "read_file", map[string]any{"path": path}); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := use(t, c, h.ws, "write_file", map[string]any{"path": "new", "content": "x"}); err != nil {
		t.Errorf("write: %v", err)
	}
	if _, err := use(t, c, h.ws, "read_file", map[string]any{"path": root + "/notes"}); err == nil || err.Error() != outOfReach {
		t.Errorf("a root inside of what is private: %v", err)
	}
}

func TestWideRoots(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	c := files.Config{ExtraRoots: []string{
		"/etc", "/home/", "/home/ann", "/usr", "/var", "/srv/people/ann", "/srv/people", link, // wide
		"/etc/parley", "/home/ann/handbook", "/usr/share/doc", "/srv/handbook", "/srv/people/ann/x", "/nowhere",
	}}
	if got := fmt.Sprint(c.WideRoots("/srv/people/ann")); got != "[0 1 2 3 4 5 6 7]" {
		t.Errorf("wide are %s", got)
	}
	if got := fmt.Sprint(c.WideRoots("")); got != "[0 1 2 3 4 7]" {
		t.Errorf("without a home, wide are %s", got)
	}
	c = files.Config{WritableRoots: []string{"/srv/notes", "/srv/people", link}}
	if got := fmt.Sprint(c.WideWritableRoots("/srv/people/ann"), c.WideRoots("")); got != "[1 2] []" {
		t.Errorf("wide and writable are %s", got)
	}
}
