package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/gateway/conversations"
	"parley/sessions"
	"parley/subagents/overview"
	"parley/transcript"
)

const (
	shownAgents = 15  // sub-agents that /agents names
	asked       = 200 // the newest sub-agents, among which those that run are looked for
)

const noAgents = "This conversation has started no sub-agents."

// answerAgents lists the sub-agents of a conversation: those that run, then the newest.
func (d *Handler) answerAgents(ctx context.Context, token string) (string, error) {
	_, s, found, err := d.findConversation(ctx, token)
	if err != nil {
		return "", err
	}
	if !found {
		return nothingYet, nil
	}
	tree, err := d.Store.Tree(ctx, s.ID)
	if err != nil {
		return "", err
	}
	type agent struct {
		sessions.Session
		did overview.Activity
	}
	newest := slices.Clone(tree[1:])
	slices.SortStableFunc(newest, func(a, b sessions.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	if len(newest) == 0 {
		return noAgents, nil
	}
	var all []agent
	for _, s := range newest[:min(len(newest), asked)] {
		turns, err := d.Store.TurnsOf(ctx, s.ID)
		if err != nil {
			return "", err
		}
		all = append(all, agent{s, overview.ActivityOf(turns)})
	}
	ended := func(a agent) int {
		if a.did.State == overview.Ended {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b agent) int { return cmp.Compare(ended(a), ended(b)) })
	var b strings.Builder
	b.WriteString("Sub-agents of this conversation, costs by themselves and with those below them:\n\n")
	now, shown := d.Now(), FormatCosts(tree)
	for _, a := range all[:min(len(all), shownAgents)] {
		fmt.Fprintf(&b, "- %s: %s, depth %d, %s, %s, %s, %s\n", conversations.Code(Label(a.Session)), activityText(a.did), a.Depth-s.Depth,
			formatDuration(a.did.Duration(now)), plural(a.did.Calls, "model call"), shown.own[a.ID], shown.subtree[a.ID])
	}
	if more := len(newest) - shownAgents; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// activityText says in a word or two what a sub-agent does, or how it ended.
func activityText(a overview.Activity) string {
	switch {
	case a.State == overview.Fresh:
		return "is about to start"
	case a.State != overview.Ended || a.Outcome == transcript.EndTurn || a.Outcome == transcript.Done:
		return string(a.State)
	case a.Outcome == transcript.Canceled || a.Outcome == transcript.Stopped:
		return "stopped"
	default:
		return "ended early (" + strings.ReplaceAll(string(a.Outcome), "_", " ") + ")"
	}
}

// formatDuration returns a duration as people say it.
func formatDuration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
