package try

import (
	"fmt"
	"strings"

	"parley/cmd/parley/terminal"
	"parley/gateway"
	"parley/gateway/commands"
)

// showSubagent announces that a sub-agent began or has ended.
func (c *conversation) showSubagent(h gateway.Subagent) {
	where := strings.Repeat("   ", max(h.Depth, 1))
	if !h.Ended {
		c.view.printNote(fmt.Sprintf("%s(sub-agent “%s” begins)", where, h.Label))
		return
	}
	how := "has ended"
	switch {
	case h.Outcome == "budget":
		how = "was stopped by its budget"
	case !succeeded(h):
		how = "ended early, " + strings.ReplaceAll(string(h.Outcome), "_", " ")
	}
	// What it cost stands in the table below the answer, rounded so that all of it adds up.
	c.view.printNote(fmt.Sprintf("%s(sub-agent “%s” %s: %.1f s)", where, h.Label, how, h.Took.Seconds()))
}

func succeeded(h gateway.Subagent) bool { return h.Outcome == "end_turn" || h.Outcome == "done" }

// showTree shows what each sub-agent of the conversation has cost, when the answer
// had some.
func (c *conversation) showTree(a, before gateway.Answer, shown commands.TreeCosts) {
	if len(a.Tree) < 2 || len(a.Tree) == len(before.Tree) {
		return
	}
	for _, line := range costTable(shown.Rows) {
		c.view.printNote("   " + line)
	}
}

// costTable sets rows in columns with a head. What a row costs with its sub-agents is what it
// costs by itself and what the rows just below it cost with theirs.
func costTable(rows []commands.CostRow) []string {
	const gap = 3
	cells := [][3]string{{"", "by itself", "with sub-agents"}}
	for _, r := range rows {
		label := r.Label
		switch {
		case r.More > 0:
			label = fmt.Sprintf("%d more", r.More)
		case r.Depth == 0:
			label = "the conversation"
		}
		cells = append(cells, [3]string{strings.Repeat("  ", r.Depth) + label, r.Own, r.Subtree})
	}
	var widths [3]int
	for _, row := range cells {
		for i, text := range row {
			widths[i] = max(widths[i], terminal.Width(text))
		}
	}
	lines := make([]string, len(cells))
	for i, row := range cells {
		lines[i] = row[0] + strings.Repeat(" ", widths[0]-terminal.Width(row[0]))
		for j := 1; j < len(row); j++ {
			lines[i] += strings.Repeat(" ", gap+widths[j]-terminal.Width(row[j])) + row[j]
		}
	}
	return lines
}
