// Package secrets knows which files hold keys and passwords on any machine: by a name such
// as .ssh, wherever it lies, or by their place, such as /etc/shadow. No setting takes one of
// them off the lists. (docs/decisions/0080)
package secrets

import (
	"slices"
	"strings"
)

// Names returns the names of files and folders that hold keys, wherever they lie, in lower
// case. One of several names is written with a slash.
func Names() []string { return slices.Clone(names) }

// Paths returns absolute paths of files and folders that hold keys.
func Paths() []string { return slices.Clone(paths) }

// IsNamed reports whether a clean, absolute path is, or lies below, one of Names. Upper and
// lower case are the same, as some file systems have it.
func IsNamed(abs string) bool {
	abs = strings.ToLower(abs) + "/"
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(abs, "/"+name+"/") })
}

var names = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".config/gcloud", ".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc",
	".password-store", ".vault-token", ".my.cnf", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "id_ed25519_sk", "id_ecdsa_sk",
	".config/gh", ".cargo/credentials", ".cargo/credentials.toml", ".claude/.credentials.json", ".codex/auth.json",
}

var paths = []string{
	"/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/passwd-", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private",
	"/etc/kubernetes", "/run/secrets", "/var/run/secrets", "/run/credentials", "/var/lib/docker",
}
