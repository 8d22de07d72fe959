package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/gateway/budgets"
)

func budgetCommand(p program) *cobra.Command {
	return groupCommand("budget", "Look at what may be spent and is, and raise a budget for a while",
		`budget shows every budget with what is spent of it, and raises one for a while: at
once, without a restart, and without writing the configuration. A raise ends by itself.`,
		listBudgetsCommand(p), raiseBudgetCommand(p), revokeRaiseCommand(p))
}

func listBudgetsCommand(p program) *cobra.Command {
	var all bool
	c := answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List all budgets, what is spent of them, and what they are raised by",
		Long: `ls lists the budgets of the configuration: of everybody, of each account, and what one
message, conversation, person and group may spend, followed by who has spent of it today.
SHARE is what is spent and held of the limit. LIMIT includes RAISED, what it is raised by.`,
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.BudgetPage, error) {
		page, err := ask.Budgets(ctx)
		raises := []admin.RaisedBudget{}
		for _, r := range page.Raises {
			if all || r.State == admin.RaiseHolds || r.State == admin.RaiseVoid {
				raises = append(raises, r)
			}
		}
		page.Raises = raises
		return page, err
	}, printBudgets)
	c.Flags().BoolVar(&all, "all", false, "with the raises of the last seven days that are over")
	return c
}

func printBudgets(b *bytes.Buffer, page admin.BudgetPage) {
	t := newTable("BUDGET", "OF", ">LIMIT", ">RAISED", ">SPENT", ">HELD", ">SHARE", "PERIOD", "CHANNEL")
	for _, s := range page.Budgets {
		limit, spent, held, share := "unlimited", s.Settled.String(), s.Held.String(), ""
		if s.Limit > 0 {
			limit = s.Limit.String()
			share = strconv.FormatFloat(100*s.Share, 'f', 1, 64) + " %"
		}
		of := sanitize(s.Of)
		if s.Each {
			spent, held, share = "", "", ""
			if s.More > 0 {
				of += fmt.Sprintf(" (and %d more than are listed)", s.More)
			}
		}
		raised := ""
		if s.Raised > 0 {
			raised = s.Raised.String()
		}
		t.add(s.Budget, of, limit, raised, spent, held, share, s.Period, sanitize(s.Channel))
	}
	t.print(b)
	if len(page.Raises) == 0 {
		return
	}
	b.WriteByte('\n')
	t = newTable("RAISE", "BUDGET", "OF", ">AMOUNT", "STATE", "BY", "ASKED BY", "SINCE", "UNTIL")
	for _, r := range page.Raises {
		t.add(sanitize(r.ID), sanitize(r.Budget), sanitize(r.Of), r.Amount.String(), string(r.State), sanitize(r.By), sanitize(r.Asked), formatTime(r.Since), formatTime(r.Until))
	}
	t.print(b)
}

func raiseBudgetCommand(p program) *cobra.Command {
	var q admin.RaiseQuery
	var lasts string
	keys := budgets.RaisableKeys()
	c := answerCommand(p, &cobra.Command{
		Use:   "raise BUDGET AMOUNT",
		Short: "Raise a budget by some dollars, for a while",
		Long: `raise raises a budget from the next model call on: ` + strings.Join(keys, ", ") + `.
It ends after --for, and with the budget's day or month (UTC). A budget of one account, person,
group or conversation needs to know which.

    parley budget raise global_per_day 20 --for 3h
    parley budget raise person_per_day 5 --channel main --person 1001
    parley budget raise session 10 --session 01M7ZZZ2`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return keys, cobra.ShellCompDirectiveNoFileComp
		},
	}, func(ctx context.Context, ask *admin.Client, args []string) (r admin.RaisedBudget, err error) {
		q.Budget = args[0]
		if err := q.Amount.UnmarshalText([]byte(args[1])); err != nil {
			return r, newUsageError("%q is not by how many dollars a budget is raised, such as 5 or 0.25", args[1])
		}
		if q.For, err = parseSpan("--for", lasts); err != nil {
			return r, err
		}
		return ask.Raise(ctx, q)
	}, func(b *bytes.Buffer, r admin.RaisedBudget) {
		fmt.Fprintf(b, "raised %s of %s by %s, until %s; parley budget revoke %s takes it back\n",
			sanitize(r.Budget), sanitize(r.Of), r.Amount, formatTime(r.Until), sanitize(r.ID))
	})
	f := c.Flags()
	f.StringVar(&lasts, "for", "1h", "how long: 30m, 3h or 2d; at least 1m, at most 31d")
	f.StringVar(&q.Channel, "channel", "", "the account, or that of the person or group")
	f.StringVar(&q.Person, "person", "", "whose budget: the network's id of them, as in parley budget ls")
	f.StringVar(&q.Group, "group", "", "which group's budget: the network's id of it")
	f.StringVar(&q.Session, "session", "", "which conversation's budget: a session's id, or its beginning")
	return c
}

// parseSpan reads how long something lasts: a duration, or days.
func parseSpan(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, newUsageError("%s %q is no duration as 30m, 3h or 2d", flag, text)
}

func revokeRaiseCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a raise back, also one that somebody permitted in chat",
		Long:  "revoke ends a raise at once. What was spent of it is spent. It takes the id that parley budget ls shows, or as much of its beginning as no other has.",
		Args:  cobra.ExactArgs(1),
		ValidArgsFunction: completeWith(p, func(ctx context.Context, ask *admin.Client) (ids []string, err error) {
			page, err := ask.Budgets(ctx)
			for _, r := range page.Raises {
				if r.State == admin.RaiseHolds || r.State == admin.RaiseVoid {
					ids = append(ids, r.ID)
				}
			}
			return ids, err
		}),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.RaisedBudget, error) {
		return ask.Revoke(ctx, args[0])
	}, func(b *bytes.Buffer, r admin.RaisedBudget) {
		fmt.Fprintf(b, "taken back: %s of %s is lower by %s again\n", sanitize(r.Budget), sanitize(r.Of), r.Amount)
	})
}
