package main

import (
	"bytes"
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
	return answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List who may talk to the bot and who may not, and what says so",
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.AccessPage, error) {
		return ask.Access().List(ctx)
	}, func(b *bytes.Buffer, page admin.AccessPage) {
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
		t.printOr(b, "Nobody may talk to the bot.")
		printUnreadable(b, shutOut, page.Problem)
	})
}

// accessText describes what an entry says.
func accessText(e admin.AccessEntry) string {
	if e.Overruled {
		return string(e.Ruling) + ", overruled"
	}
	return string(e.Ruling)
}

// shutOut is what follows from records about people that cannot be read.
const shutOut = "their people are shut out"

// printUnreadable names records that cannot be read, if there are some, and what follows from that.
func printUnreadable(b *bytes.Buffer, so, problem string) {
	if problem != "" {
		fmt.Fprintf(b, "\nNot readable, so %s: %s\n", so, sanitize(problem))
	}
}

func allowCommand(p program) *cobra.Command {
	var role string
	c := answerCommand(p, &cobra.Command{
		Use:   "allow CHANNEL ID",
		Short: "Let somebody in, in direct messages, or give them a role",
		Long: `allow takes the name of the bot account and the network's stable id, which the log shows when
that person writes to the bot. In groups they are answered when the configuration lists
them. Who was shut out, or had a role by this command, and is listed is as the configuration
says again; with --role they have that one, whatever it says.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeAccounts(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.AccessEntry, error) {
		return ask.Access().Allow(ctx, args[0], args[1], roles.Role(role))
	}, printAccess)
	c.Flags().StringVar(&role, "role", "", "what they may do: guest, user, admin or owner (docs/operating.md)")
	return c
}

func denyCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "deny CHANNEL ID",
		Short: "Shut somebody out, everywhere on that account",
		Long: `deny takes the name of the bot account and the network's stable id. What that person has
said and was not taken up yet is dropped; a turn of theirs that runs ends at its next call of a
tool that does more than read.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeAccounts(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.AccessEntry, error) {
		return ask.Access().Deny(ctx, args[0], args[1])
	}, printAccess)
}

func completeAccounts(p program) cobra.CompletionFunc {
	return completeWith(p, func(ctx context.Context, ask *admin.Client) ([]string, error) {
		page, err := ask.Access().List(ctx)
		return page.Channels, err
	})
}

// printAccess prints whether a person may talk to the bot now, and which decision says so.
func printAccess(b *bytes.Buffer, e admin.AccessEntry) {
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
	fmt.Fprintf(b, text, sanitize(e.Person), sanitize(e.Channel), role)
}

func pairCommand(p program) *cobra.Command {
	return groupCommand("pair", "Let in strangers by the code that the bot gave them",
		`With access.pairing the bot gives a code to people who write to it and are not listed.
Who gets to know the code from them, and knows who they are, lets them in by it: an approver
with /pair in the chat, or the operator with these commands.`,
		listPairingCommand(p), approvePairingCommand(p), revokePairingCommand(p))
}

func listPairingCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List the codes that wait, oldest first",
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.PairingPage, error) {
		return ask.Access().Pairing(ctx)
	}, func(b *bytes.Buffer, page admin.PairingPage) {
		t := newTable("CODE", "CHANNEL", "PERSON", "ASKED", "EXPIRES")
		for _, q := range page.Requests {
			t.add(sanitize(q.Code), sanitize(q.Channel), sanitize(q.Person), formatTime(q.At), formatTime(q.Expires))
		}
		t.printOr(b, "No code waits.")
		printUnreadable(b, shutOut, page.Problem)
	})
}

func approvePairingCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:               "approve CODE",
		Short:             "Let in, in direct messages, who was given a code",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePairing(p, func(q admin.PairingRequest) string { return q.Code }),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.AccessEntry, error) {
		return ask.Access().ApprovePairing(ctx, args[0])
	}, printAccess)
}

func revokePairingCommand(p program) *cobra.Command {
	var channel string
	c := answerCommand(p, &cobra.Command{
		Use:   "revoke ID",
		Short: "Take back a code, or that somebody was let in",
		Long: `revoke takes the id of a person, or a code that waits. The person is a stranger again, unless
the configuration lists them, and may ask for another code; parley access deny keeps them out.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePairing(p, func(q admin.PairingRequest) string { return q.Person }),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.RevokedPairing, error) {
		return ask.Access().RevokePairing(ctx, args[0], channel)
	}, func(b *bytes.Buffer, done admin.RevokedPairing) { fmt.Fprintln(b, sanitize(done.String())) })
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
