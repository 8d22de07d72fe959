package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/costs"
	"parley/gateway/conversations"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/subagents/overview"
)

const shownCosts = 10 // sub-agents that /cost names

// TreeCosts is what a conversation and its sub-agents have cost, as people see it. All of
// it adds up: what the conversation itself and what the topmost sub-agents cost with
// those below them is the whole, and likewise at each sub-agent.
type TreeCosts struct {
	Own     string       // the conversation itself
	Total   string       // with its sub-agents
	Agents  string       // Markdown: the dearest sub-agents, each below its parent; empty: there are none
	Rows    []CostRow    // the same, behind the conversation itself
	column  costs.Column // for what stands beside them
	own     map[sessionkeys.SessionID]string
	subtree map[sessionkeys.SessionID]string
}

// CostRow is the conversation, one of its sub-agents, or several that are not named.
type CostRow struct {
	Depth   int    // below the conversation, of which it is 0
	Label   string // empty: the conversation itself, or several
	More    int    // how many are not named; 0: it is one
	Own     string // by itself; empty: of several
	Subtree string // with all below it
}

// FormatCosts shows a conversation with its sub-agents, parents first.
func FormatCosts(tree []sessions.Session) TreeCosts {
	if len(tree) == 0 {
		return TreeCosts{column: costs.NewColumn()}
	}
	// A parent costs as much as its children at least, so with the dearest come
	// all above them.
	dearest := slices.Clone(tree[1:])
	slices.SortStableFunc(dearest, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(b.Subtree, a.Subtree), cmp.Compare(a.Depth, b.Depth))
	})
	named := map[sessionkeys.SessionID]bool{}
	for _, s := range dearest[:min(len(dearest), shownCosts)] {
		named[s.ID] = true
	}
	drawn := overview.SortTree(slices.Concat(tree[:1], dearest), nil)
	nodes := make([]costs.Node, len(drawn))
	for i, s := range drawn {
		nodes[i] = costs.Node{Depth: s.Depth, Own: s.Own, Subtree: s.Subtree}
	}
	shown := costs.NewTree(nodes)
	c := TreeCosts{
		column: shown.Column, Own: shown.Own(0), Total: shown.Subtree(0),
		own: map[sessionkeys.SessionID]string{}, subtree: map[sessionkeys.SessionID]string{},
	}
	for i, s := range drawn {
		c.own[s.ID], c.subtree[s.ID] = shown.Own(i), shown.Subtree(i)
	}
	c.Rows = listCosts(drawn, named, shown)
	if len(drawn) > 1 {
		c.Agents = listAgents(c.Rows[1:])
	}
	return c
}

// Since shows what the conversation has cost since it had cost before, and in all.
func (c TreeCosts) Since(before, all costs.Amount) (since, total string) {
	shown := costs.NewColumn(before, all-before)
	if c.Agents != "" { // of which all is the sum
		shown = c.column.WithParts(before, all-before)
	}
	return shown.Part(1), shown.Total()
}

// listCosts lists the conversation and the sub-agents that are named, and of the others how
// many they are and what they cost, below their parents: siblings stand by their costs, so
// that those are the last.
func listCosts(drawn []sessions.Session, named map[sessionkeys.SessionID]bool, shown costs.Tree) []CostRow {
	rows := []CostRow{{Own: shown.Own(0), Subtree: shown.Subtree(0)}}
	for i := 1; i < len(drawn); i++ {
		s := drawn[i]
		depth := s.Depth - drawn[0].Depth
		if named[s.ID] {
			rows = append(rows, CostRow{Depth: depth, Label: Label(s), Own: shown.Own(i), Subtree: shown.Subtree(i)})
			continue
		}
		end := i + 1
		for end < len(drawn) && drawn[end].Depth >= s.Depth {
			end++
		}
		rows = append(rows, CostRow{Depth: depth, More: end - i, Subtree: shown.Siblings(i, end)})
		i = end - 1
	}
	return rows
}

// listAgents writes what sub-agents cost in Markdown.
func listAgents(rows []CostRow) string {
	var b strings.Builder
	b.WriteString("Sub-agents, each by itself and with those below it:\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "\n%s- ", strings.Repeat("  ", r.Depth-1))
		if r.More > 0 {
			fmt.Fprintf(&b, "%d more: %s", r.More, r.Subtree)
			continue
		}
		fmt.Fprintf(&b, "%s: %s, %s", conversations.Code(r.Label), r.Own, r.Subtree)
	}
	return b.String()
}

// Label returns what a sub-agent is called: the words that a model chose, on one line,
// without anything that is not shown, and not too long.
func Label(s sessions.Session) string {
	return cmp.Or(conversations.OneLine(cmp.Or(s.Title, s.Role)), string(s.ID))
}
