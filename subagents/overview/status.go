package overview

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"parley/tools"
)

//go:embed session_status.md
var statusDoc string

//go:embed agents_list.md
var agentsDoc string

func (l *inspector) status(ctx context.Context, _ struct{}, c tools.Call) (tools.Result, error) {
	s, err := l.Store.Session(ctx, c.Session)
	if err != nil {
		return tools.Result{}, l.readError(ctx, c, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s: %s, depth %d", s.ID, roleOf(s), s.Depth)
	if s.Parent != "" {
		fmt.Fprintf(&b, ", started by %s", s.Parent)
	}
	fmt.Fprintf(&b, "\nAgent: %s", s.Key.Agent())
	model, err := l.Model(ctx, s)
	if err != nil {
		return tools.Result{}, l.readError(ctx, c, err)
	}
	if model != "" {
		fmt.Fprintf(&b, ", model %s", model)
	}
	fmt.Fprintf(&b, "\nMessages: %d", s.Messages)
	fmt.Fprintf(&b, "\nCost: %s, with sub-agents %s", s.Own.Display(), s.Subtree.Display())
	if s.Held > 0 {
		fmt.Fprintf(&b, ", and %s held for calls under way", s.Held.Display())
	}
	if s.Unpriced > 0 {
		fmt.Fprintf(&b, " (without %d calls whose price is unknown)", s.Unpriced)
	}
	if l.Left != nil {
		left, err := l.Left(ctx, s, c.Turn)
		if err != nil {
			return tools.Result{}, l.readError(ctx, c, err)
		}
		if left == "" {
			left = "not limited"
		}
		fmt.Fprintf(&b, "\nLeft to spend: %s", left)
	}
	return tools.Result{Content: b.String()}, nil
}

func (l *inspector) agents(ctx context.Context, _ struct{}, c tools.Call) (tools.Result, error) {
	s, err := l.Store.Session(ctx, c.Session)
	if err != nil {
		return tools.Result{}, l.readError(ctx, c, err)
	}
	var some []Agent
	if l.Agents != nil {
		some = l.Agents(s)
	}
	if len(some) == 0 {
		return tools.Result{Content: "This session may not start any agent."}, nil
	}
	lines := make([]string, len(some))
	for i, a := range some {
		lines[i] = a.Name + ": " + a.Model
		if a.About != "" {
			lines[i] += ", " + a.About
		}
	}
	return tools.Result{Content: strings.Join(lines, "\n")}, nil
}
