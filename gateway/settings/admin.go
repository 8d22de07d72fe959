package settings

import (
	"path/filepath"

	"parley/gateway/listeners"
	"parley/problems"
)

// AdminConfig sets where the operator's socket is.
type AdminConfig struct {
	// Socket is its path. Default: admin.sock in the state folder; "off" for
	// none, and then the commands that ask a running gateway do not work.
	Socket string `yaml:"socket"`
}

// Defaults fills in what is not said.
func (c AdminConfig) Defaults(stateDir string) AdminConfig {
	if c.Socket == "" && stateDir != "" {
		c.Socket = filepath.Join(stateDir, "admin.sock")
	}
	return c
}

// Validate reports what is wrong with c, after Defaults.
func (c AdminConfig) Validate() error {
	if c.Socket == listeners.Off || c.Socket == "" {
		return nil
	}
	var ps problems.List
	ps.Check("socket", listeners.CheckSocket(c.Socket))
	return ps.Err()
}
