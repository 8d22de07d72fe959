// Package prompt is the system message: a block that never changes while an
// agent's configuration does not, so that providers can cache it, and a short
// one behind it that does.
package prompt

import (
	_ "embed"
	"strings"
	"time"

	"parley/llm"
	"parley/sessionkeys"
)

//go:embed system.md
var standard string

// Build makes the system message for a turn that starts at now in the
// conversation key. own is what the operator adds for the agent.
func Build(own string, key sessionkeys.Key, now time.Time) []llm.SystemBlock {
	stable := strings.TrimSpace(standard)
	if own = strings.TrimSpace(own); own != "" {
		stable += "\n\n" + own
	}
	where := "a direct message with one person"
	if key.Address().Kind != sessionkeys.DM {
		where = "a group; messages start with [name #id], of which only the id is sure"
	}
	return []llm.SystemBlock{
		{Text: stable, Cache: true},
		{Text: "This conversation is " + where + ". Today is " + now.UTC().Format("Monday, 2 January 2006") + " (UTC)."},
	}
}
