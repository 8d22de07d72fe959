package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func approvalsCommand(p program) *cobra.Command {
	return groupCommand("approvals", "Look at what agents ask permission for, and decide about it",
		`Some calls of tools need somebody's permission, and so does a higher budget where
budgets.pause offers one. People give it in the chat, with the code of the question; these
commands do so from outside, also where nobody in the chat may.`,
		listApprovalsCommand(p), showApprovalCommand(p),
		decideCommand(p, true, "approve ID", "Permit a call, once"), decideCommand(p, false, "deny ID", "Refuse a call"))
}

func completeApprovals(p program) cobra.CompletionFunc {
	return completeWith(p, func(ctx context.Context, ask *admin.Client) (ids []string, err error) {
		page, err := ask.Approvals(ctx)
		for _, a := range page.Approvals {
			if a.State == admin.AwaitsApproval {
				ids = append(ids, a.ID)
			}
		}
		return ids, err
	})
}

func listApprovalsCommand(p program) *cobra.Command {
	var all bool
	c := answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List what waits for permission, and the budgets that are raised, oldest first",
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.ApprovalPage, error) {
		page, err := ask.Approvals(ctx)
		listed := []admin.Approval{}
		for _, a := range page.Approvals {
			if all || a.State == admin.AwaitsApproval || a.Raise != nil && a.Raise.Holds {
				listed = append(listed, a)
			}
		}
		page.Approvals = listed
		return page, err
	}, func(b *bytes.Buffer, page admin.ApprovalPage) {
		t := newTable("CODE", "ID", "STATE", "WHAT", "ASKED", "EXPIRES", "BY", "CONVERSATION")
		for _, a := range page.Approvals {
			t.add(sanitize(a.Code), sanitize(a.ID), string(a.State), sanitize(describeAsked(a)), formatTime(a.At), formatTime(a.Expires), sanitize(a.By), sanitize(a.Key))
		}
		t.printOr(b, "Nothing waits for permission.")
		printUnreadable(b, "nobody decides about them", page.Problem)
	})
	c.Flags().BoolVar(&all, "all", false, "with those of the last seven days that were decided or have expired")
	return c
}

func showApprovalCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:               "show ID",
		Short:             "Show what an agent wants to run",
		Long:              "show takes the id of a request, as much of its beginning as no other has, or its code.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApprovals(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.ApprovalDetail, error) {
		return ask.Approval(ctx, args[0])
	}, func(b *bytes.Buffer, d admin.ApprovalDetail) {
		state := string(d.State)
		if d.By != "" {
			state += " by " + d.By
		}
		read := ""
		if d.Read != "" {
			read = "after reading " + sanitize(d.Read) + "\n"
		}
		fmt.Fprintf(b, "request       %s (code %s)\nstate         %s\nasks for      %s\nconversation  %s\nasked         %s by %s\nexpires       %s\n%s\n%s\n",
			sanitize(d.ID), sanitize(d.Code), sanitize(state), sanitize(describeAsked(d.Approval)), sanitize(d.Key), formatTime(d.At), sanitize(d.Asker), formatTime(d.Expires), read, sanitizeLines(d.Text))
	})
}

func decideCommand(p program, yes bool, use, short string) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:               use,
		Short:             short,
		Long:              short + ". The request is named as for show.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeApprovals(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.Approval, error) {
		return ask.Decide(ctx, args[0], yes)
	}, func(b *bytes.Buffer, a admin.Approval) {
		done := "refused"
		if yes {
			done = "permitted"
		}
		switch {
		case a.Queued:
			fmt.Fprintf(b, "stored, and carried out when the turn that runs there has ended: parley approvals show %s says what became of it\n", sanitize(a.ID))
		case a.Raise != nil:
			fmt.Fprintf(b, "%s what %s asked for: %s\n", done, sanitize(a.Code), sanitize(describeAsked(a)))
		default:
			fmt.Fprintf(b, "%s the call of %s that %s asked about\n", done, sanitize(a.Tool), sanitize(a.Code))
		}
	})
}

// describeAsked names what is asked for: a tool, or a higher budget with its end.
func describeAsked(a admin.Approval) string {
	r := a.Raise
	switch {
	case r == nil:
		return a.Tool
	case r.Until.IsZero():
		return fmt.Sprintf("%s more for %s, for %s", r.Amount.Display(), r.Budget, r.For)
	}
	return fmt.Sprintf("%s more for %s, until %s", r.Amount.Display(), r.Budget, formatTime(r.Until))
}

// sanitizeLines is sanitize for text of several lines.
func sanitizeLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\t", "    "), "\n")
	for i, l := range lines {
		lines[i] = sanitize(l)
	}
	return strings.Join(lines, "\n")
}
