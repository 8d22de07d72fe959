package subagents

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/tools/files"
	"parley/tools/shell"
)

// What children never have, unless the operator lifts a single one. (U06)
var always = []string{
	"gateway", "agents_list", "whatsapp_login", "session_status", "cron", "memory_search", "memory_get", SendName,
	"message", "message_send", files.SendName,
}

// sending is what cannot be lifted: a child has no voice of its own.
var sending = []string{"message", "message_send", files.SendName}

// What a child at the last level has no use for; nothing lifts it. (U07)
var leaf = []string{"sessions_list", "sessions_history", SpawnName, SendName}

// permits reports whether a child at depth may have the tool. What it does not
// permit is neither shown to the child nor run for it: both ask the set that is
// made by this. (TX14)
func (c Config) permits(tool string, depth, maxDepth int) bool {
	switch {
	case tool == tools.DoneName: // it ends the child's own turn, and nothing else
		return true
	case !slices.Contains(c.Tools, tool) && !slices.Contains(c.AlsoAllow, tool):
		return false
	case slices.Contains(c.Deny, tool), slices.Contains(sending, tool):
		return false
	case tool == shell.FolderName: // its commands begin where its parent's do
		return false
	case slices.Contains(always, tool) && !slices.Contains(c.AlsoAllow, tool):
		return false
	}
	return depth < maxDepth || !slices.Contains(leaf, tool)
}

// rights are what a child may. They are fixed in its row when it is made.
type rights struct {
	Tools    []string      `json:"tools"`     // by name; the parent had them all
	MaxDepth int           `json:"max_depth"` // of the tree
	MaxSteps int           `json:"max_steps"` // model calls of one turn
	Timeout  time.Duration `json:"timeout"`   // of one turn, in nanoseconds
	Caps     []limit       `json:"caps,omitempty"`

	// Whose child it is: the person's turn, and the turn it was spawned by.
	Root   string `json:"root_turn"`
	Parent string `json:"parent_turn"`
}

// limit is what a session and all below it may cost. A child counts against its
// own and those of all above it.
type limit struct {
	Session sessionkeys.SessionID `json:"session"`
	Amount  costs.Amount          `json:"amount"`
}

func (l limit) scope() sessions.Scope {
	return sessions.Scope{Kind: "task", ID: string(l.Session), Window: costs.Always, Limit: l.Amount}
}

// parseRights reads a row. What cannot be read gives no rights.
func parseRights(s sessions.Session) (r rights, err error) {
	if err := json.Unmarshal(s.Policy, &r); err != nil {
		return rights{}, fmt.Errorf("read the rights of session %s: %w", s.ID, err)
	}
	return r, nil
}

// childTools returns what of the parent's tools a child may have.
func (m *turnNode) childTools() *tools.Set {
	c := m.tree.Config
	return m.tools.Filter(func(name string) bool { return c.permits(name, m.depth+1, m.rights.MaxDepth) })
}
