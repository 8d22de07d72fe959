package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func sessionsCommand(p program) *cobra.Command {
	return groupCommand("sessions", "List sessions, show one with its sub-agents and what they cost, export, import and delete it", "",
		listSessionsCommand(p), showSessionCommand(p), exportSessionCommand(p), importSessionCommand(p), deleteSessionCommand(p), watchSessionCommand(p))
}

func listSessionsCommand(p program) *cobra.Command {
	var q admin.SessionQuery
	var from, sort string
	c := answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List sessions, the latest or the dearest first",
		Long: `ls lists the sessions that people talk to; what their sub-agents cost is in their
cost. Of what anybody said only the titles are shown, where conversations have some.`,
	}, func(ctx context.Context, ask *admin.Client, _ []string) (list admin.SessionList, err error) {
		if q.Since, err = parseSince(time.Now(), from); err != nil {
			return list, err
		}
		if err := checkOneOf("--sort", sort, "recent", "cost"); err != nil {
			return list, err
		}
		if q.Limit < 1 || q.Limit > admin.MaxSessions {
			return list, newUsageError("--limit %d is not 1 to %d", q.Limit, admin.MaxSessions)
		}
		q.ByCost = sort == "cost"
		return ask.Sessions(ctx, q)
	}, func(b *bytes.Buffer, list admin.SessionList) {
		columns := []string{"SESSION", "STATE", "LAST CHANGE", ">MESSAGES", ">COST", ">HELD", "KEY"}
		titled := slices.ContainsFunc(list.Sessions, func(s admin.Session) bool { return s.Title != "" })
		if titled {
			columns = append(columns, "TITLE")
		}
		t := newTable(columns...)
		unpriced := 0
		for _, s := range list.Sessions {
			cells := []string{string(s.ID), string(s.State), formatTime(s.Updated), strconv.Itoa(s.Messages), s.Subtree.String(), s.Held.String(), sanitize(s.Key)}
			if titled {
				cells = append(cells, sanitize(s.Title))
			}
			t.add(cells...)
			unpriced += s.Unpriced
		}
		printTable(b, t, unpriced)
	})
	f := c.Flags()
	f.StringVar(&from, "since", "", "only those that changed since: 24h, 7d, or a day as 2026-01-01 (UTC)")
	f.StringVar(&sort, "sort", "recent", "what is first: recent or cost")
	f.IntVar(&q.Limit, "limit", 20, "how many")
	f.StringVar(&q.Channel, "channel", "", "only those that people talk to by this instance")
	completeFlag(c, "sort", "recent", "cost")
	return c
}

// printTable prints rows, and says when calls are missing from their sums.
func printTable[N int | int64](b *bytes.Buffer, t *table, unpriced N) {
	t.print(b)
	if unpriced == 0 {
		return
	}
	have := "have"
	if unpriced == 1 {
		have = "has"
	}
	fmt.Fprintf(b, "%s %s no known price: what that cost is not in these sums.\n", plural(unpriced, "call"), have)
}

func showSessionCommand(p program) *cobra.Command {
	var transcript bool
	c := answerCommand(p, &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: its tree of sub-agents with their costs, and its turns",
		Long: `show takes the id of a session or of a sub-agent, or as much of its beginning as
no other has. Of what was said only the title is shown without --transcript.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSessions(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.SessionDetail, error) {
		return ask.Session(ctx, args[0], transcript)
	}, printSession)
	c.Flags().BoolVar(&transcript, "transcript", false, "with what was said, and what sub-agents were given to do")
	return c
}

// completeSessions completes the id of a session.
func completeSessions(p program) cobra.CompletionFunc {
	return completeWith(p, func(ctx context.Context, ask *admin.Client) (ids []string, err error) {
		list, err := ask.Sessions(ctx, admin.SessionQuery{Limit: 100})
		for _, s := range list.Sessions {
			ids = append(ids, string(s.ID))
		}
		return ids, err
	})
}

func printSession(b *bytes.Buffer, d admin.SessionDetail) {
	tree := newTable("SESSION", "ROLE", "AGENT", "STATE", ">MESSAGES", ">CALLS", ">OWN", ">SUBTREE", ">HELD")
	unpriced := 0
	shown := d.Costs()
	for i, n := range d.Tree {
		if n.ID == d.Asked {
			fmt.Fprintf(b, "session %s\n", n.ID)
			if n.Title != "" && n.Parent == "" {
				fmt.Fprintf(b, "title   %s\n", sanitize(n.Title))
			}
			fmt.Fprintf(b, "key     %s\nsince   %s, last change %s\n", sanitize(n.Key), formatTime(n.Created), formatTime(n.Updated))
			if n.Deleted != nil {
				fmt.Fprintf(b, "deleted %s\n", sanitize(n.Deleted.String()))
			}
			if c := d.Context; c != nil && n.Deleted == nil {
				fmt.Fprintf(b, "context about %d of %d tokens (%d %%)\n", c.Tokens, c.Window, c.Percent)
			}
			b.WriteByte('\n')
		}
		if i == 0 {
			unpriced = n.Unpriced
		}
		state := string(n.State)
		if n.Outcome != "" {
			state += ": " + n.Outcome
		}
		tree.add(strings.Repeat("  ", n.Depth)+string(n.ID), sanitize(n.Role), sanitize(n.Agent), state, strconv.Itoa(n.Messages),
			strconv.FormatInt(n.Usage.Calls, 10), shown.Own(i), shown.Subtree(i), n.Held.String())
	}
	printTable(b, tree, unpriced)
	for _, n := range d.Tree {
		if n.Title != "" && n.Parent != "" {
			fmt.Fprintf(b, "%s was given: %s\n", n.ID, sanitize(n.Title))
		}
	}
	if len(d.Turns) > 0 {
		b.WriteByte('\n')
		newTurnTable(d).print(b)
	}
	for _, m := range d.Transcript {
		printMessage(b, m)
	}
}

func newTurnTable(d admin.SessionDetail) *table {
	t := newTable("TURN", "OPENED", ">TOOK", "OUTCOME", ">STEPS", ">ATTEMPTS", ">COST", "CHANNEL")
	spent := d.TurnCosts()
	for i, one := range d.Turns {
		took, outcome := d.Now.Sub(one.Opened), one.State
		if !one.Ended.IsZero() {
			took, outcome = one.Ended.Sub(one.Opened), one.Outcome
		}
		t.add(one.ID, formatTime(one.Opened), took.Round(10*time.Millisecond).String(), outcome, strconv.Itoa(one.Steps), strconv.Itoa(one.Attempts), spent[i], sanitize(one.Channel))
	}
	return t
}

// printMessage shows what was said, each line behind who said it.
func printMessage(b *bytes.Buffer, m admin.Message) {
	fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(formatTime(m.At)+"  "+m.Role+" "+sanitize(m.Model)))
	for _, p := range m.Parts {
		head := ""
		if p.Type != "text" {
			head = "[" + strings.TrimSpace(sanitize(p.Type+" "+p.Tool)) + "] "
		}
		if p.Error {
			head += "error: "
		}
		for line := range strings.Lines(p.Text) {
			fmt.Fprintln(b, "    "+head+sanitize(strings.TrimRight(line, "\n")))
			head = ""
		}
		if head != "" {
			fmt.Fprintln(b, "    "+strings.TrimSpace(head))
		}
	}
}
