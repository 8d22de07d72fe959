package configs

import (
	"path/filepath"
	"strings"

	"parley/gateway/listeners"
	"parley/gateway/settings"
)

// makeAbsolute makes the paths of cfg absolute: from home where they begin with ~/,
// otherwise from the configuration's own folder.
func (d *decoder) makeAbsolute(cfg *settings.Config) {
	if cfg.StateDir == "" {
		cfg.StateDir = d.defaultStateDir()
	}
	for _, p := range []*string{&cfg.StateDir, &cfg.Broker.CredentialsFile, &cfg.Broker.TokenFile, &cfg.Store.Redis.PasswordFile, &cfg.Prices.File, &cfg.Tools.File, &cfg.Webhooks.CertFile, &cfg.Webhooks.KeyFile, &cfg.MCP.Logins} {
		*p = d.absolutePath(*p)
	}
	lists := [][]string{cfg.Files.Denied, cfg.Files.ExtraRoots, cfg.Files.WritableRoots, cfg.Skills}
	for _, a := range cfg.Agents {
		lists = append(lists, a.Instructions)
	}
	for _, list := range lists {
		for i, p := range list {
			list[i] = d.absolutePath(p)
		}
	}
	if cfg.Admin.Socket != listeners.Off {
		cfg.Admin.Socket = d.absolutePath(cfg.Admin.Socket)
	}
}

func (d *decoder) absolutePath(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if home, _ := d.lookup("HOME"); filepath.IsAbs(home) {
			return filepath.Join(home, rest)
		}
		return p
	}
	if p == "" || filepath.IsAbs(p) || strings.HasPrefix(p, "~") {
		return p
	}
	if abs, err := filepath.Abs(filepath.Join(d.dir, p)); err == nil {
		return abs
	}
	return p
}

// defaultStateDir returns where the service manager or the desktop says.
func (d *decoder) defaultStateDir() string {
	// Several folders of a unit are joined with colons; the first is ours.
	if s, _ := d.lookup("STATE_DIRECTORY"); s != "" {
		first, _, _ := strings.Cut(s, ":")
		return first
	}
	// Relative paths are to be ignored, says the XDG base directory
	// specification.
	if s, _ := d.lookup("XDG_STATE_HOME"); filepath.IsAbs(s) {
		return filepath.Join(s, "parley")
	}
	if home, _ := d.lookup("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "parley")
	}
	return ""
}
