package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/gateway/roles"
)

func accessCommand(p program) *cobra.Command {
	return groupCommand("access", "Look at who may talk to the bot, let people in and shut them out",
		`access shows whom the configuration lists, and who was let in or shut out since. It
lets people in and shuts them out at once, without a restart; the configuration is not
written. Who is shut out is so although the configuration lists them.`,
		listAccessCommand(p), allowCommand(p), denyCommand(p))
}

func listAccessCommand(p program) *cobra.Command {
	return adminCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List who may talk to the bot and who may not, and what says so",
	}, func(ctx context.Context, o *operator, ask *admin.Client, _ []string) error {
		page, err := ask.Access().List(ctx)
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		switch {
		case o.json:
			return o.printJSON(page)
		case len(page.Entries) == 0:
			if _, err := fmt.Fprintln(o.out, "Nobody may talk to the bot."); err != nil {
				return err //nolint:wrapcheck // the caller says what failed
			}
			return printProblem(o, page.Problem)
		}
		t := newTable("CHANNEL", "PERSON", "ACCESS", "ROLE", "SOURCE", "BY", "CODE", "SINCE")
		for _, e := range page.Entries {
			person, since := sanitize(e.Person), ""
			if e.Person == "" {
				person = "everybody"
			}
			if !e.At.IsZero() {
				since = formatTime(e.At)
			}
			t.add(sanitize(e.Channel), person, accessText(e), sanitize(string(e.Role)), string(e.Source), sanitize(e.By), sanitize(e.Code), since)
		}
		if err := t.print(o.out); err != nil {
			return err
		}
		return printProblem(o, page.Problem)
	})
}

// accessText describes what an entry says.
func accessText(e admin.AccessEntry) string {
	if e.Overruled {
		return string(e.Ruling) + ", overruled"
	}
	return string(e.Ruling)
}

// printProblem names the records that cannot be read, if there are any.
func printProblem(o *operator, problem string) error {
	return printUnreadable(o, "their people are shut out", problem)
}

// printUnreadable names records that cannot be read, if there are some, and what follows from that.
func printUnreadable(o *operator, so, problem string) error {
	if problem == "" {
		return nil
	}
	_, err := fmt.Fprintf(o.out, "\nNot readable, so %s: %s\n", so, sanitize(problem))
	return err //nolint:wrapcheck // the caller says what failed
}

func allowCommand(p program) *cobra.Command {
	var role string
	c := adminCommand(p, &cobra.Command{
		Use:   "allow CHANNEL ID",
		Short: "Let somebody in, in direct messages, or give them a role",
		Long: `allow takes the name of the bot account and the network's stable id, which the log shows when
that person writes to the bot. In groups they are answered when the configuration lists
them. Who was shut out, or had a role by this command, and is listed is as the configuration
says again; with --role they have that one, whatever it says.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeAccounts(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		e, err := ask.Access().Allow(ctx, args[0], args[1], roles.Role(role))
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		return printAccess(o, e)
	})
	c.Flags().StringVar(&role, "role", "", "what they may do: guest, user, admin or owner (docs/operating.md)")
	return c
}

func denyCommand(p program) *cobra.Command {
	return adminCommand(p, &cobra.Command{
		Use:   "deny CHANNEL ID",
		Short: "Shut somebody out, everywhere on that account",
		Long: `deny takes the name of the bot account and the network's stable id. What that person has
said and was not taken up yet is dropped; a turn of theirs that runs ends at its next call of a
tool that does more than read.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeAccounts(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		e, err := ask.Access().Deny(ctx, args[0], args[1])
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		return printAccess(o, e)
	})
}

func completeAccounts(p program) cobra.CompletionFunc {
	return completeWith(p, func(ctx context.Context, ask *admin.Client) ([]string, error) {
		page, err := ask.Access().List(ctx)
		return page.Channels, err
	})
}

// printAccess prints whether a person may talk to the bot now, and which decision says so.
func printAccess(o *operator, e admin.AccessEntry) error {
	if o.json {
		return o.printJSON(e)
	}
	text, role := "%s may talk to %s, in direct messages%s\n", ""
	if e.Role != roles.None {
		role = ", with the role " + sanitize(string(e.Role))
	}
	switch {
	case e.Source == admin.FromConfiguration:
		text = "%s may talk to %s, as the configuration says%s\n"
	case e.Ruling == "denied":
		text = "%s is shut out of %s%s\n"
	}
	_, err := fmt.Fprintf(o.out, text, sanitize(e.Person), sanitize(e.Channel), role)
	return err //nolint:wrapcheck // the caller says what failed
}

func pairCommand(p program) *cobra.Command {
	return groupCommand("pair", "Let in strangers by the code that the bot gave them",
		`With access.pairing the bot gives a code to people who write to it and are not listed.
Who gets to know the code from them, and knows who they are, lets them in by it: an approver
with /pair in the chat, or the operator with these commands.`,
		listPairingCommand(p), approvePairingCommand(p), revokePairingCommand(p))
}

func listPairingCommand(p program) *cobra.Command {
	return adminCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List the codes that wait, oldest first",
	}, func(ctx context.Context, o *operator, ask *admin.Client, _ []string) error {
		page, err := ask.Access().Pairing(ctx)
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		switch {
		case o.json:
			return o.printJSON(page)
		case len(page.Requests) == 0:
			if _, err := fmt.Fprintln(o.out, "No code waits."); err != nil {
				return err //nolint:wrapcheck // the caller says what failed
			}
			return printProblem(o, page.Problem)
		}
		t := newTable("CODE", "CHANNEL", "PERSON", "ASKED", "EXPIRES")
		for _, q := range page.Requests {
			t.add(sanitize(q.Code), sanitize(q.Channel), sanitize(q.Person), formatTime(q.At), formatTime(q.Expires))
		}
		if err := t.print(o.out); err != nil {
			return err
		}
		return printProblem(o, page.Problem)
	})
}

func approvePairingCommand(p program) *cobra.Command {
	return adminCommand(p, &cobra.Command{
		Use:               "approve CODE",
		Short:             "Let in, in direct messages, who was given a code",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePairing(p, func(q admin.PairingRequest) string { return q.Code }),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		e, err := ask.Access().ApprovePairing(ctx, args[0])
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		return printAccess(o, e)
	})
}

func revokePairingCommand(p program) *cobra.Command {
	var channel string
	c := adminCommand(p, &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back a code, or that somebody was let in",
		Long: `revoke takes the id of a person, or a code that waits. The person is a stranger again, unless
the configuration lists them, and may ask for another code; parley access deny keeps them out.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePairing(p, func(q admin.PairingRequest) string { return q.Person }),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		done, err := ask.Access().RevokePairing(ctx, args[0], channel)
		if err != nil {
			return err //nolint:wrapcheck // it names what was asked
		}
		if o.json {
			return o.printJSON(done)
		}
		_, err = fmt.Fprintln(o.out, sanitize(done.String()))
		return err //nolint:wrapcheck // the caller says what failed
	})
	c.Flags().StringVar(&channel, "channel", "", "the name of the bot account, when the id is somebody's on several")
	return c
}

func completePairing(p program, of func(admin.PairingRequest) string) cobra.CompletionFunc {
	return completeWith(p, func(ctx context.Context, ask *admin.Client) (words []string, err error) {
		page, err := ask.Access().Pairing(ctx)
		for _, q := range page.Requests {
			words = append(words, of(q))
		}
		return words, err
	})
}
