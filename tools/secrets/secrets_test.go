package secrets_test

import (
	"testing"

	"parley/tools/secrets"
)

// I02
func TestIsNamed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/home/ann/.ssh": true, "/home/ann/.ssh/id": true, "/root/.ssh/x": true, "/srv/backup/ann/.gnupg/a/b": true, "/home/ann/.SSH/x": true,
		"/home/ann/.aws/credentials": true, "/home/ann/.azure/x": true, "/home/ann/.kube/config": true, "/home/ann/.docker/config.json": true,
		"/home/ann/.config/gcloud/credentials.db": true, "/home/ann/.netrc": true, "/home/ann/keys/id_rsa": true,
		"/home/ann/.config/gh/hosts.yml": true, "/home/ann/.cargo/credentials.toml": true, "/home/ann/.cargo/registry": false, "/home/ann/.claude/.credentials.json": true,
		"/srv/project/.claude/settings.json": false, "/home/ann/.codex/auth.json": true, "/home/ann/.codex/config.toml": false, "/home/ann/keys/id_ed25519_sk": true,
		"/home/ann": false, "/home/ann/.config": false, "/home/ann/.config/x": false, "/home/ann/gcloud": false, "/home/ann/.sshx": false,
		"/home/ann/x.ssh/y": false, "/home/ann/ssh/id": false, "/home/ann/id_rsa.pub": false, "/": false,
	} {
		if got := secrets.IsNamed(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
