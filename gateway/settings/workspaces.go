package settings

import (
	"cmp"
	"time"

	"parley/problems"
)

// WorkspacesConfig bounds the folders of conversations.
type WorkspacesConfig struct {
	// MaxBytes and MaxFiles are how much may lie in a workspace before no further
	// file of a message is saved there. Defaults 512 MiB and 5000; -1: any number.
	MaxBytes int64 `yaml:"max_bytes"`
	MaxFiles int   `yaml:"max_files"`
	// Keep is how long a workspace is kept after its conversation was ended and
	// nothing happened in it. Default 720h; -1s: for ever.
	Keep time.Duration `yaml:"keep"`
}

// Defaults fills in what is not said.
func (c WorkspacesConfig) Defaults() WorkspacesConfig {
	c.MaxBytes = cmp.Or(c.MaxBytes, 512<<20)
	c.MaxFiles = cmp.Or(c.MaxFiles, 5000)
	c.Keep = cmp.Or(c.Keep, 30*24*time.Hour)
	return c
}

// Validate says everything that cannot work, joined.
func (c WorkspacesConfig) Validate() error {
	var ps problems.List
	if c.MaxBytes < -1 {
		ps.Add("max_bytes", "%d is less than -1", c.MaxBytes)
	}
	if c.MaxFiles < -1 {
		ps.Add("max_files", "%d is less than -1", c.MaxFiles)
	}
	if c.Keep > 0 && c.Keep < time.Hour {
		ps.Add("keep", "%s is shorter than an hour", c.Keep)
	}
	return ps.Err()
}
