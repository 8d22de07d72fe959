package settings

import (
	"time"

	"parley/problems"
)

// RetentionConfig is how long it is kept what was said. (docs/privacy.md)
type RetentionConfig struct {
	// Sessions is how long a session is kept after its last change; then its content is deleted, and
	// what it has cost stays. At least 1h. Default: for ever.
	Sessions time.Duration `yaml:"sessions"`
}

// Validate says everything that cannot work, joined.
func (c RetentionConfig) Validate() error {
	var ps problems.List
	if c.Sessions != 0 && c.Sessions < time.Hour {
		ps.Add("sessions", "%s is shorter than an hour", c.Sessions)
	}
	return ps.Err()
}
