package try

import (
	"fmt"
	"strings"

	"parley/gateway"
	"parley/gateway/commands"
)

// showSubagent announces that a sub-agent began or has ended.
func (c *conversation) showSubagent(h gateway.Subagent) {
	where := strings.Repeat("   ", max(h.Depth, 1))
	if !h.Ended {
		c.screen.printLine(fmt.Sprintf("%s(sub-agent “%s” begins)", where, h.Label))
		return
	}
	how := "has ended"
	if !succeeded(h) {
		how = "ended early, " + strings.ReplaceAll(string(h.Outcome), "_", " ")
	}
	c.screen.printLine(fmt.Sprintf("%s(sub-agent “%s” %s: %.1f s, %s)", where, h.Label, how, h.Took.Seconds(), h.Cost.Display()))
}

func succeeded(h gateway.Subagent) bool { return h.Outcome == "end_turn" || h.Outcome == "done" }

// showTree shows what each sub-agent of the conversation has cost, when the answer
// had some.
func (c *conversation) showTree(a, before gateway.Answer, shown commands.TreeCosts) {
	if len(a.Tree) < 2 || len(a.Tree) == len(before.Tree) {
		return
	}
	c.screen.printLine(fmt.Sprintf("   Of this the conversation itself: %s.", shown.Own))
	for line := range strings.Lines(strings.ReplaceAll(shown.Agents, "`", "")) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			c.screen.printLine("   " + line)
		}
	}
}
