package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Problem is one mistake in a Config, with the path of what is wrong.
type Problem struct {
	Path string // as in the file: providers.main.api_key
	Err  error
}

func (p Problem) Error() string { return p.Path + ": " + p.Err.Error() }
func (p Problem) Unwrap() error { return p.Err }

// Problems are all mistakes of a Config at once.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Validate reports every mistake at once, as Problems, or nil. It is asked
// after Defaults.
func (c Config) Validate() error {
	var ps Problems
	add := func(path, format string, args ...any) {
		ps = append(ps, Problem{path, fmt.Errorf(format, args...)}) //nolint:err113 // the text is for the operator
	}
	check := func(path string, err error) {
		for _, e := range each(err) {
			ps = append(ps, Problem{path, e})
		}
	}
	switch {
	case c.StateDir == "":
		add("state_dir", "required: the folder that holds the database, the message log and the workspaces")
	case !filepath.IsAbs(c.StateDir):
		add("state_dir", "%s is not an absolute path", c.StateDir)
	}
	var level slog.Level
	if level.UnmarshalText([]byte(c.Log.Level)) != nil {
		add("log.level", "%q is none of debug, info, warn, error", c.Log.Level)
	}
	if !slices.Contains([]string{"", "text", "json"}, c.Log.Format) {
		add("log.format", "%q is neither text nor json", c.Log.Format)
	}
	if !slices.Contains([]string{"strict", "relaxed"}, c.Broker.Sync) {
		add("broker.sync", "%q is neither strict nor relaxed", c.Broker.Sync)
	}
	if c.Broker.MaxBytes < 1<<20 {
		add("broker.max_bytes", "%d is less than a mebibyte", c.Broker.MaxBytes)
	}
	if l := c.Broker.Lease; l < 2*time.Second || l > time.Minute || l%time.Second != 0 {
		add("broker.lease", "%s is not a whole number of seconds from 2s to 60s", l)
	}
	if c.Broker.URL != "" && c.Broker.Sync == "relaxed" {
		add("broker.sync", "belongs to the server in this process, but broker.url names another one")
	}
	log := c.BrokerOptions()
	log.MaxBytes, log.Relaxed = 0, 0 // said above
	check("broker", log.Validate())
	c.validateRoles(add, check)
	check("ops", c.Ops.Validate())
	check("worker", c.Worker.Validate())
	if filepath.IsAbs(c.StateDir) { // else that is said
		check("admin", c.Admin.Validate())
	}
	c.validateSubagents(add, check)
	_, err := c.Prices.Ceiling.Price()
	check("prices.ceiling", err)
	check("limits", c.Limits.Validate())
	for key, err := range c.Budgets.Mistakes() {
		check("budgets."+key, err)
	}
	if c.Retry.Max < -1 || c.Retry.Max > 100 {
		add("retry.max_retries", "%d is not -1 to 100", c.Retry.Max)
	}
	for path, d := range map[string]time.Duration{"retry.base": c.Retry.Base, "retry.cap": c.Retry.Cap, "retry.window": c.Retry.Window} {
		if d < 0 {
			add(path, "%s is negative", d)
		}
	}

	c.validateChannels(add, check)
	c.validateProviders(add, check)
	c.validateAgents(add, check)
	check("files", c.Files.Validate())
	check("attachments", c.Attachments.Validate())
	c.validateTranscription(add)
	check("workspaces", c.Workspaces.Validate())
	for i, root := range c.Files.ExtraRoots {
		if Overlap(filepath.Clean(root), filepath.Clean(c.StateDir)) {
			add(fmt.Sprintf("files.extra_roots[%d]", i), "%s and the state folder %s lie in each other: every conversation could read all others", root, c.StateDir)
		}
	}
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Overlap reports whether one of two clean, absolute paths is the other or lies in
// it.
func Overlap(a, b string) bool {
	in := func(dir, path string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	}
	return filepath.IsAbs(a) && filepath.IsAbs(b) && (in(a, b) || in(b, a))
}

// each is the errors that errors.Join made one of, or err itself.
func each(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return []error{err}
	}
	return joined.Unwrap()
}
