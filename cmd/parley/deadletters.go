package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func deadLettersCommand(p program) *cobra.Command {
	return groupCommand("dead-letters", "Look at messages that were given up, and give them to the bot again",
		`A message that could not be read, or that failed three times, is kept as a dead
letter until somebody redelivers or drops it.`,
		listLettersCommand(p), showLetterCommand(p), redeliverLettersCommand(p), dropLetterCommand(p))
}

// letterReasons are why the broker and the gateway give a message up.
var letterReasons = []string{"unreadable", "address", "encoding", "too_large", "attempts", "key", "foreign"}

// reasonFlag gives a command the flag --reason.
func reasonFlag(c *cobra.Command, reason *string, usage string) {
	c.Flags().StringVar(reason, "reason", "", usage+": "+strings.Join(letterReasons, ", "))
	completeFlag(c, "reason", letterReasons...)
}

// fetchDeadLetters returns those of a reason, or all.
func fetchDeadLetters(ctx context.Context, ask *admin.Client, reason string) ([]admin.DeadLetter, error) {
	ls := []admin.DeadLetter{}
	if reason != "" {
		if err := checkOneOf("--reason", reason, letterReasons...); err != nil {
			return nil, err
		}
	}
	err := ask.DeadLetters().List(ctx, func(l admin.DeadLetter) bool {
		if reason == "" || l.Reason == reason {
			ls = append(ls, l)
		}
		return true
	})
	return ls, err // it names what was asked
}

func completeDeadLetters(p program) cobra.CompletionFunc {
	return completeWith(p, func(ctx context.Context, ask *admin.Client) (ids []string, err error) {
		ls, err := fetchDeadLetters(ctx, ask, "")
		for _, l := range ls {
			ids = append(ids, l.ID)
		}
		return ids, err
	})
}

func listLettersCommand(p program) *cobra.Command {
	var reason string
	c := answerCommand(p, &cobra.Command{
		Use:   "ls",
		Short: "List dead letters, oldest first",
	}, func(ctx context.Context, ask *admin.Client, _ []string) (map[string][]admin.DeadLetter, error) {
		ls, err := fetchDeadLetters(ctx, ask, reason)
		return map[string][]admin.DeadLetter{"letters": ls}, err
	}, func(b *bytes.Buffer, answer map[string][]admin.DeadLetter) {
		none := "There are no dead letters."
		if reason != "" {
			none = "There are no such dead letters."
		}
		t := newTable("LETTER", "GIVEN UP", "REASON", "CHANNEL", ">SIZE", "CONVERSATION")
		for _, l := range answer["letters"] {
			t.add(l.ID, formatTime(l.At), sanitize(l.Reason), sanitize(l.Channel), formatSize(uint64(l.Bytes)), sanitize(l.Key))
		}
		t.printOr(b, none)
	})
	reasonFlag(c, &reason, "only those of this reason")
	return c
}

func showLetterCommand(p program) *cobra.Command {
	var body bool
	c := answerCommand(p, &cobra.Command{
		Use:   "show ID",
		Short: "Show a dead letter, and whether it can be redelivered",
		Long: `show takes the id of a dead letter, or as much of its beginning as no other has.
What the message says is shown with --body only.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDeadLetters(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.DeadLetterDetail, error) {
		return ask.DeadLetters().Show(ctx, args[0], body)
	}, printLetter)
	c.Flags().BoolVar(&body, "body", false, "with what is kept of it")
	return c
}

func printLetter(b *bytes.Buffer, d admin.DeadLetterDetail) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "%-13s %s\n", name, sanitize(value))
		}
	}
	line("letter", d.ID)
	line("given up", formatTime(d.At))
	line("reason", d.Reason)
	line("problem", d.Problem)
	line("channel", d.Channel)
	line("conversation", d.Key)
	line("sender", d.Sender)
	line("event", d.Event)
	if !d.Received.IsZero() {
		line("received", formatTime(d.Received))
	}
	line("size", formatSize(uint64(d.Bytes)))
	again := "yes, with parley dead-letters redeliver " + d.ID
	if d.Refused != "" {
		again = "no: " + d.Refused
	}
	line("redeliver", again)
	line("body", d.Body)
}

// redeliverResult is what redeliver did, as JSON.
type redeliverResult struct {
	Redelivered []admin.DeadLetter `json:"redelivered"`
	Refused     []refusedLetter    `json:"refused"`
}

type refusedLetter struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

func redeliverLettersCommand(p program) *cobra.Command {
	var all bool
	var reason string
	c := adminCommand(p, &cobra.Command{
		Use:   "redeliver ID | --all",
		Short: "Give dead letters to the bot again",
		Long: `redeliver queues the message of a dead letter as if it had just come: its sender
must still be allowed, the answer goes to where it was written, and the letter is
forgotten once the message is stored. Doing it twice answers once. What cannot be
redelivered stays, and then the status is 1.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeDeadLetters(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		if all == (len(args) == 1) || reason != "" && !all {
			return newUsageError("name one dead letter, or all of them with --all, or all of one reason with --all --reason")
		}
		var chosen []admin.DeadLetter
		var err error
		if all {
			chosen, err = fetchDeadLetters(ctx, ask, reason)
		} else {
			chosen = []admin.DeadLetter{{ID: args[0]}}
		}
		if err != nil {
			return err
		}
		return o.redeliver(ctx, ask, chosen, all)
	})
	c.Flags().BoolVar(&all, "all", false, "all there are")
	reasonFlag(c, &reason, "with --all: only those of this reason")
	return c
}

// redeliver goes on after a letter that is refused, or that somebody else has
// taken meanwhile, and after nothing else.
func (o *operator) redeliver(ctx context.Context, ask *admin.Client, chosen []admin.DeadLetter, all bool) error {
	done := redeliverResult{Redelivered: []admin.DeadLetter{}, Refused: []refusedLetter{}}
	var failed error
	for _, l := range chosen {
		now, err := ask.DeadLetters().Redeliver(ctx, l.ID, l.Place)
		e, known := errors.AsType[*admin.Error](err)
		switch {
		case err == nil:
			done.Redelivered = append(done.Redelivered, now)
			if !o.json {
				_, err = fmt.Fprintf(o.out, "redelivered %s\n", now.ID)
			}
		case known && all && e.Kind == admin.NotFound:
			err = nil // somebody else took it meanwhile
		case known && e.Kind == admin.Refused:
			done.Refused = append(done.Refused, refusedLetter{l.ID, e.Message})
			err = nil
		}
		if err != nil {
			failed = err
			break
		}
	}
	if o.json {
		failed = errors.Join(failed, o.printJSON(done))
	}
	for _, r := range done.Refused {
		failed = errors.Join(failed, errors.New(sanitize(r.Error))) // for the operator
	}
	if failed == nil && len(chosen) == 0 && !o.json {
		_, failed = fmt.Fprintln(o.out, "There are no such dead letters.")
	}
	return failed
}

func dropLetterCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:               "drop ID",
		Short:             "Forget a dead letter for ever",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDeadLetters(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.DeadLetter, error) {
		return ask.DeadLetters().Drop(ctx, args[0], 0)
	}, func(b *bytes.Buffer, l admin.DeadLetter) {
		fmt.Fprintf(b, "dropped %s\n", l.ID)
	})
}
