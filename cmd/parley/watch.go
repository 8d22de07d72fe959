package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/activity"
	"parley/gateway/admin"
)

func watchSessionCommand(p program) *cobra.Command {
	c := adminCommand(p, &cobra.Command{
		Use:   "watch [ID]",
		Short: "Show what turns do while they run, in all sessions or in one",
		Long: `watch shows each step of turns from now on, until you end it: what models are asked and
answer, calls of tools and their progress, sub-agents, retries and errors, with times and
costs; and goals that are reached, budgets that are used up, and messages that are not read. With the id of a session, or as much of its beginning as no other has, only that
session's and its sub-agents'. With --json each line is the whole event.

What people and models wrote is in it; configured secrets are taken out. If the gateway
has more to say than is read, events are left out.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSessions(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		return ask.Events(ctx, id, nil, func(e activity.Event, line []byte) error { // it names what was asked
			if o.json {
				_, err := fmt.Fprintln(o.out, sanitize(string(line)))
				return err // the caller says what failed
			}
			_, err := fmt.Fprintln(o.out, eventLine(e))
			return err // likewise
		})
	})
	return c
}

// maxEventWords bounds each text of a line, in characters.
const maxEventWords = 200

// eventLine returns an event on one line.
func eventLine(e activity.Event) string {
	p := e.Payload
	words := []string{e.At.Local().Format(time.TimeOnly), cmp.Or(e.Session, e.Key), strings.Repeat("  ", e.Depth) + string(e.Type)}
	for _, s := range []string{p.Tool, p.Status, p.Args, p.Text, p.Model, p.Error} {
		if s = sanitize(strings.Join(strings.Fields(s), " ")); s == "" {
			continue
		}
		if rs := []rune(s); len(rs) > maxEventWords {
			s = string(rs[:maxEventWords-1]) + "…"
		}
		words = append(words, s)
	}
	if p.Count > 0 {
		words = append(words, fmt.Sprintf("%d messages", p.Count))
	}
	if p.Millis > 0 {
		words = append(words, (time.Duration(p.Millis) * time.Millisecond).String())
	}
	if p.Cost != "" {
		words = append(words, "$"+p.Cost)
	}
	return strings.Join(words, "  ")
}
