package settings

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/problems"
	"parley/tools"
)

// checkEither reports a value that is neither of two words.
func checkEither(ps *problems.List, path, value, a, b string) {
	if value != a && value != b {
		ps.Add(path, "%q is neither %s nor %s%s", value, a, b, tools.Suggest(value, []string{a, b}))
	}
}

// Validate reports every mistake at once, as a problems.List, or nil. It is asked
// after Defaults.
func (c Config) Validate() error {
	var ps problems.List
	switch {
	case c.StateDir == "":
		ps.Add("state_dir", "%w: the folder that holds the database, the message log and the workspaces", problems.ErrRequired)
	case !filepath.IsAbs(c.StateDir):
		ps.Add("state_dir", "%s is not an absolute path", c.StateDir)
	}
	var level slog.Level
	if level.UnmarshalText([]byte(c.Log.Level)) != nil {
		ps.Add("log.level", "%q is none of debug, info, warn, error%s", c.Log.Level, tools.Suggest(c.Log.Level, []string{"debug", "info", "warn", "error"}))
	}
	if c.Log.Format != "" {
		checkEither(&ps, "log.format", c.Log.Format, "text", "json")
	}
	checkEither(&ps, "broker.sync", c.Broker.Sync, "strict", "relaxed")
	if c.Broker.MaxBytes < 1<<20 {
		ps.Add("broker.max_bytes", "%d is less than a mebibyte", c.Broker.MaxBytes)
	}
	if l := c.Broker.Lease; l < 2*time.Second || l > time.Minute || l%time.Second != 0 {
		ps.Add("broker.lease", "%s is not a whole number of seconds from 2s to 60s", l)
	}
	if c.Broker.URL != "" && c.Broker.Sync == "relaxed" {
		ps.Add("broker.sync", "belongs to the server in this process, but broker.url names another one")
	}
	log := c.BrokerOptions()
	log.MaxBytes, log.Relaxed = 0, 0 // said above
	ps.Check("broker", log.Validate())
	validateRoles(c, &ps)
	ps.Check("ops", c.Ops.Validate())
	ps.Check("tracing", c.Tracing.Validate())
	validateListeners(c, &ps)
	validatePage(c, &ps)
	ps.Check("worker", c.Worker.Validate())
	if filepath.IsAbs(c.StateDir) { // else that is said
		ps.Check("admin", c.Admin.Validate())
	}
	validateSubagents(c, &ps)
	_, err := c.Prices.Ceiling.Price()
	ps.Check("prices.ceiling", err)
	ps.Check("limits", c.Limits.Validate())
	ps.Check("budgets", c.Budgets.Validate())
	if len(c.Budgets.Pause.RaiseBy) > 0 && !c.namesApprover() {
		ps.Add("budgets.pause.raise_by", "nobody could be asked: access of no account names an approver, admin or owner")
	}
	ps.Check("context", c.Context.Validate())
	ps.Check("goals", c.Goals.Validate())
	ps.Check("approvals", c.Approvals.Validate())
	c.Retry.validate(&ps, "retry")
	c.Circuit.validate(&ps)
	c.Titles.validate(c.Providers, &ps)
	validateSummariser(c.Context, c.Providers, &ps)

	validateChannels(c, &ps)
	c.Providers.validate(c.Retry, &ps)
	validateAgents(c, &ps)
	c.Bindings.validate(c, &ps)
	ps.Check("files", c.Files.Validate())
	c.Bash.validate(c.Sandbox, &ps)
	c.Web.validate(&ps)
	validateToolsThatAreOff(c, &ps)
	validateTools(c, &ps)
	validateServers(c, &ps)
	validateInquiries(c, &ps)
	validateCron(c, &ps)
	ps.Check("attachments", c.Attachments.Validate())
	validateTranscription(c, &ps)
	ps.Check("workspaces", c.Workspaces.Validate())
	ps.Check("retention", c.Retention.Validate())
	validateRoots(c, &ps)
	validateSkills(c, &ps)
	return ps.Err()
}

// validateRoots refuses roots of the file tools that lead to all conversations, and those in which
// agents could change what they are told.
func validateRoots(c Config, ps *problems.List) {
	for _, list := range c.Files.Roots() {
		for i, root := range list.Paths {
			if Overlap(filepath.Clean(root), filepath.Clean(c.StateDir)) {
				ps.Add(fmt.Sprintf("files.%s[%d]", list.Key, i), "%s and the state folder %s lie in each other: every conversation could read all others", root, c.StateDir)
			}
		}
	}
	told := map[string]string{}
	for i, p := range c.Skills {
		told[fmt.Sprintf("skills[%d]", i)] = p
	}
	for name, a := range c.Agents {
		for i, p := range a.Instructions {
			told[fmt.Sprintf("agents.%s.instructions[%d]", name, i)] = p
		}
	}
	for i, root := range c.Files.WritableRoots {
		for _, key := range slices.Sorted(maps.Keys(told)) {
			if Overlap(filepath.Clean(root), filepath.Clean(told[key])) {
				ps.Add(fmt.Sprintf("files.writable_roots[%d]", i), "%s and %s, %s, lie in each other: whoever talks to an agent could change what all of them are told", root, key, told[key])
			}
		}
	}
}

// Overlap reports whether one of two clean, absolute paths is the other or lies in
// it.
func Overlap(a, b string) bool { return IsBelow(a, b) || IsBelow(b, a) }

// IsBelow reports whether path is dir or lies in it; both are clean and absolute, or it
// does not.
func IsBelow(dir, path string) bool {
	return filepath.IsAbs(dir) && filepath.IsAbs(path) &&
		(path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

// namesApprover reports whether any account has somebody who may decide.
func (c Config) namesApprover() bool {
	return slices.ContainsFunc(c.Accounts(), func(a Account) bool { return a.Access.NamesApprover() })
}
