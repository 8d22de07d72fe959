package overview

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"parley/sessions"
	"parley/tools"
)

//go:embed sessions_list.md
var listDoc string

const (
	listed   = 20  // sessions that sessions_list shows when nobody says how many
	maxLabel = 100 // bytes of a label
)

type listInput struct {
	Offset int `json:"offset,omitempty" jsonschema:"first, from 1" minimum:"1"`
	Limit  int `json:"limit,omitempty" jsonschema:"default 20" minimum:"1" maximum:"100"`
}

func (l *inspector) list(ctx context.Context, in listInput, c tools.Call) (tools.Result, error) {
	tree, err := l.Store.Tree(ctx, c.Session)
	if err != nil {
		return tools.Result{}, l.readError(ctx, c, err)
	}
	tree = SortTree(tree, nil)
	first, end := max(in.Offset, 1)-1, len(tree)
	if first >= end {
		return tools.Result{}, tools.Errorf(tools.Permanent, "offset %d is past the end: there are %s", in.Offset, plural(end, "session"))
	}
	end = min(end, first+cmp.Or(in.Limit, listed))
	top := tree[0].Depth
	var b strings.Builder
	b.WriteString("Costs are own, then with sub-agents.\n")
	for _, s := range tree[first:end] {
		turns, err := l.Store.TurnsOf(ctx, s.ID)
		if err != nil {
			return tools.Result{}, l.readError(ctx, c, err)
		}
		b.WriteString(strings.Repeat("  ", s.Depth-top) + sessionLine(s, ActivityOf(turns)))
		if s.ID == c.Session {
			b.WriteString(" (this one)")
		}
		b.WriteByte('\n')
	}
	if end < len(tree) {
		fmt.Fprintf(&b, "[%d to %d of %d shown; go on with offset %d]\n", first+1, end, len(tree), end+1)
	}
	return tools.Result{Content: strings.TrimRight(b.String(), "\n")}, nil
}

func sessionLine(s sessions.Session, a Activity) string {
	text := string(s.ID) + " " + roleOf(s)
	if s.Title != "" {
		text += " " + cleanTitle(s.Title)
	}
	text += ", " + string(a.State)
	if a.Outcome != "" {
		text += " (" + string(a.Outcome) + ")"
	}
	return text + fmt.Sprintf(", %s, %s, %s", plural(s.Messages, "message"), s.Own.Display(), s.Subtree.Display())
}

// cleanTitle returns a title that a model gave: on one line, and not too long.
func cleanTitle(title string) string {
	if len(title) > maxLabel {
		title = strings.ToValidUTF8(title[:maxLabel], "") + "…"
	}
	return strconv.Quote(title)
}

func roleOf(s sessions.Session) string { return cmp.Or(s.Role, "main") }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
