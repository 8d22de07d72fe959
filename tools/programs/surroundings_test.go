package programs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/tools/programs"
)

// security 3.3: nothing hides keys from a program in a folder that it is given.
func TestCheckReadOnlyRefusesWhatHoldsKeys(t *testing.T) {
	t.Parallel()
	for path, fine := range map[string]bool{
		"/etc": false, "/etc/": false, "/etc/ssh": false, "/etc/shadow": false, "/var": false, "/var/lib": false, "/run": false, "/run/secrets": false, "/etc/kubernetes": false,
		"/home": false, "/home/ann": false, "/root": false, "/srv/ann/.ssh": false, "/srv/ann/.SSH": false, "/srv/ann/.config/gh": false, "/srv/id_rsa": false,
		"/etc/kubernetes/bot.kubeconfig": true, "/run/secrets/token": true, "/home/ann/.kube/config": true, "/home/ann/notes": true, "/root/notes": true, "/etc/ssl/certs": true,
		"/opt/notes": true, "/usr/share": true, "/var/lib/notes": true, "/srv/ssh": true, "/srv/id_rsa.pub": true, "/etcetera": true,
	} {
		if err := programs.CheckReadOnly(path); (err == nil) != fine {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestLookReadOnly(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"ann/.ssh", "ben/.config/gh", "notes/deep/.ssh"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link": "/etc", "fine": "notes", "twice": "ann"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"ann": ".ssh is in it", "ben": ".config/gh is in it", "link": "its links lead to /etc: /etc holds keys", "twice": ".ssh is in it", "none": "no such file", "notes": "", "fine": "",
	} {
		err := programs.LookReadOnly(filepath.Join(dir, name))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
