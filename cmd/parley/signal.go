package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

// networkSignal is what the gateway calls the network.
const networkSignal = "signal"

// signalCommand returns what an operator does with a Signal account while the gateway runs,
// through whose signal-cli it goes: another one would wait for the account's lock for
// ever.
func signalCommand(p program) *cobra.Command {
	return groupCommand("signal", "Link a Signal account, list its groups, trust the keys of people",
		`signal does with a Signal account what signal-cli does, through the gateway that
runs: a second signal-cli waits for the account for as long as the gateway has it.
docs/signal.md says when each is needed.`,
		linkSignalCommand(p), signalGroupsCommand(p), trustSignalCommand(p))
}

// withChannelFlag adds the flag that names the account.
func withChannelFlag(c *cobra.Command, channel *string) *cobra.Command {
	c.Flags().StringVar(channel, "channel", "", "the name of the account in channels.signal, when there are several")
	return c
}

func signalGroupsCommand(p program) *cobra.Command {
	var channel string
	return withChannelFlag(answerCommand(p, &cobra.Command{
		Use:   "groups",
		Short: "List the groups that the account is in or invited to, with their ids for access.groups",
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.Groups, error) {
		return ask.Linked(networkSignal, channel).Groups(ctx)
	}, func(b *bytes.Buffer, all admin.Groups) {
		t := newTable("ID", "NAME", ">MEMBERS", "THE ACCOUNT", "ACCESS.GROUPS")
		for _, g := range all.Groups {
			t.add(sanitize(g.ID), sanitize(g.Name), fmt.Sprint(g.Members), membershipText(g), yesNo(g.Listed))
		}
		t.printOr(b, sanitize(all.Channel)+" is in no group. Add it to one in Signal, and look again.")
	}), &channel)
}

// membershipText returns what the account is in a group.
func membershipText(g admin.Group) string {
	switch {
	case g.Member:
		return "member"
	case g.Invited && g.Listed:
		return "invited; parley accepts"
	case g.Invited:
		return "invited"
	}
	return "not in it"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func trustSignalCommand(p program) *cobra.Command {
	var channel string
	return withChannelFlag(answerCommand(p, &cobra.Command{
		Use:   "trust [PERSON SAFETY-NUMBER]",
		Short: "List the keys of people, or trust the key that somebody has now",
		Long: `trust lists whose keys the account has seen, with their safety numbers. With a
person, by ACI or number, and the safety number it trusts the key that they have now:
compare the number with theirs first, in Signal under the name of the bot. What was kept
back of them comes then.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return newUsageError("give the safety number behind the person, in quotes or as one word; parley signal trust lists them")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}, func(ctx context.Context, ask *admin.Client, args []string) (any, error) {
		account := ask.Linked(networkSignal, channel)
		if len(args) == 0 {
			return account.PeerKeys(ctx)
		}
		// The safety number is in as many words as Signal shows it in.
		return account.Trust(ctx, args[0], strings.Join(args[1:], ""))
	}, func(b *bytes.Buffer, answer any) {
		switch a := answer.(type) {
		case admin.PeerKeys:
			t := newTable("PERSON", "NUMBER", "TRUST", "SAFETY NUMBER")
			for _, k := range a.Keys {
				t.add(sanitize(k.Person), sanitize(k.Number), sanitize(k.Trust), sanitize(k.SafetyNumber))
			}
			t.print(b)
		case admin.TrustedKey:
			fmt.Fprintf(b, "%s trusts the key that %s has now. What was kept back of them comes.\n", sanitize(a.Channel), sanitize(a.Person))
		}
	}), &channel)
}

func linkSignalCommand(p program) *cobra.Command {
	var channel, device string
	o := &operator{program: p}
	c := withChannelFlag(o.bindAdmin(&cobra.Command{
		Use:   "link",
		Short: "Make the gateway a further device of an account that is on a telephone",
		Long: `link shows a QR code. In Signal on the telephone of the account open Settings,
Linked devices, Link a new device, and scan it within a minute. The gateway runs, with
the number of the telephone as account of the channel; it says that the account is not
registered until then.`,
	}, func(ctx context.Context, o *operator, ask *admin.Client, _ []string) error {
		done, err := ask.Linked(networkSignal, channel).Link(ctx, device, func(l admin.LinkStep) error { return showLink(o, l.URI) })
		if err != nil {
			return err // it names what was asked
		}
		return printLinked(o, done)
	}), &channel)
	c.Flags().StringVar(&device, "device", "parley", "what the telephone calls this device")
	return c
}

// showLink prints the address of a new device as a code to scan.
func showLink(o *operator, uri string) error {
	code, err := drawQR(uri, isTerminal(o.out))
	if err != nil {
		return fmt.Errorf("draw the code of %s: %w", sanitize(uri), err)
	}
	_, err = fmt.Fprintf(o.out, `%s
On the telephone: Signal, Settings, Linked devices, Link a new device; scan the code.
If it does not fit on the screen make the letters smaller, or make a code of this
address with another program; it holds for about a minute:

  %s

`, code, sanitize(uri))
	return err // the caller says what failed
}

func printLinked(o *operator, l admin.LinkStep) error {
	next := "parley starts signal-cli for it within a minute; parley status shows the channel as up."
	if l.Account != l.Configured {
		next = fmt.Sprintf("The configuration names another account, %s: write %s as channels.signal.%s.account, and restart the gateway.",
			sanitize(l.Configured), sanitize(l.Account), sanitize(l.Channel))
	}
	_, err := fmt.Fprintf(o.out, "Linked to %s. %s\n", sanitize(l.Account), next)
	return err // the caller says what failed
}
