package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/costs"
	"parley/sessions"
	"parley/subagents/overview"
)

const (
	shownCosts = 10 // sub-agents that /cost names
	maxLabel   = 60 // characters of a label
)

// CostTree draws what the sub-agents of a session cost, each with its own cost
// and with that of those below it: the ten dearest, the others in one line. tree
// is the session and all below it; "" when there is nobody below. What is shown
// is Markdown.
//
// The own costs of all, those of the last line included, and that of the session
// itself add up to what the tree costs.
func CostTree(tree []sessions.Session) string {
	if len(tree) < 2 {
		return ""
	}
	// A parent costs as much as its children at least, so with the dearest come
	// all above them.
	dearest := slices.Clone(tree[1:])
	slices.SortStableFunc(dearest, func(a, b sessions.Session) int {
		return cmp.Or(cmp.Compare(b.Subtree, a.Subtree), cmp.Compare(a.Depth, b.Depth))
	})
	var b strings.Builder
	b.WriteString("Sub-agents, each by itself and with those below it:\n\n")
	named := min(len(dearest), shownCosts)
	top := tree[0].Depth + 1
	for _, s := range overview.Descending(dearest[:named], func(a, b sessions.Session) int { return cmp.Compare(b.Subtree, a.Subtree) }) {
		fmt.Fprintf(&b, "%s- %s: %s, %s\n", strings.Repeat("  ", s.Depth-top), code(Label(s)), s.Own.Display(), s.Subtree.Display())
	}
	if rest := dearest[named:]; len(rest) > 0 {
		var sum costs.Amount
		for _, s := range rest {
			sum += s.Own // a part of what the store added up without overflow
		}
		fmt.Fprintf(&b, "\nand %d more: %s", len(rest), sum.Display())
	}
	return strings.TrimRight(b.String(), "\n")
}

// Label is what a sub-agent is called: the words that a model chose, on one line,
// without anything that is not shown, and not too long.
func Label(s sessions.Session) string {
	text := strings.Join(strings.FieldsFunc(cmp.Or(s.Title, s.Role), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
	if r := []rune(text); len(r) > maxLabel {
		text = string(r[:maxLabel]) + "…"
	}
	return cmp.Or(text, string(s.ID))
}

// code is a label as Markdown: a piece of code, so that the words look like
// nothing else.
func code(label string) string { return "`" + strings.ReplaceAll(label, "`", "'") + "`" }
