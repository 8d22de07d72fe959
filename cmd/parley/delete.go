package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/gateway/erasure"
)

var errNotConfirmed = errors.New("not confirmed, so nothing was deleted; --yes deletes without asking")

// confirm asks a question on standard error, and returns an error unless the answer is yes.
func (p program) confirm(ctx context.Context, question string) error {
	if _, err := fmt.Fprintf(p.err, "%s\nThis cannot be taken back. Go on? [y/N] ", question); err != nil {
		return fmt.Errorf("ask whether to go on: %w", err)
	}
	answer := make(chan string, 1)
	go func() { // a read of standard input cannot be cancelled: without an answer it ends with the process
		line, _ := bufio.NewReader(p.in).ReadString('\n') // what cannot be read is no yes
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx) // who interrupted it knows
	case said := <-answer:
		if said == "y" || said == "yes" {
			return nil
		}
	}
	_, _ = fmt.Fprintln(p.err)
	return errNotConfirmed
}

func deleteSessionCommand(p program) *cobra.Command {
	var yes bool
	c := answerCommand(p, &cobra.Command{
		Use:   "delete ID",
		Short: "Delete what was said in a session, and keep what it has cost",
		Long: `delete takes the id of a session, or as much of its beginning as no other has. Its
messages, calls of tools with their results, title, goal, answers and files are deleted,
with those of its sub-agents. What it has cost stays in the ledger and in all totals, and
so do the session's key and the times of its turns; docs/privacy.md says what else.

It is refused while a turn runs, a message waits or an answer is to be sent. Who writes
into the conversation afterwards begins a new session.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSessions(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (done erasure.Deleted, err error) {
		if !yes {
			d, err := ask.Session(ctx, args[0], false)
			if err != nil {
				return done, err
			}
			if err := p.confirm(ctx, describeDoomed(d)); err != nil {
				return done, err
			}
		}
		return ask.DeleteSession(ctx, args[0])
	}, func(b *bytes.Buffer, done erasure.Deleted) { fmt.Fprintln(b, describeDeleted(done)) })
	c.Flags().BoolVar(&yes, "yes", false, "without asking")
	return c
}

// describeDoomed says what would be deleted.
func describeDoomed(d admin.SessionDetail) string {
	root, messages := d.Tree[0], 0
	for _, n := range d.Tree {
		messages += n.Messages
	}
	text := fmt.Sprintf("Session %s (%s)", root.ID, sanitize(root.Key))
	if root.Title != "" {
		text += fmt.Sprintf(" %q", sanitize(root.Title))
	}
	text += ": " + plural(messages, "message")
	if kids := len(d.Tree) - 1; kids > 0 {
		text += " with those of " + plural(kids, "sub-agent")
	}
	return text + fmt.Sprintf(", and its files, would be deleted. What it has cost, %s, stays.", root.Subtree)
}

// describeDeleted says what was deleted.
func describeDeleted(d erasure.Deleted) string {
	if d.Again {
		return fmt.Sprintf("session %s was deleted already, %s", d.Session, sanitize(d.Mark.String()))
	}
	text := fmt.Sprintf("deleted session %s: %s", d.Session, plural(d.Mark.Messages, "message"))
	if d.Agents > 0 {
		text += " with those of " + plural(d.Agents, "sub-agent")
	}
	return text + "; what it has cost stays"
}

func forgetCommand(p program) *cobra.Command {
	var channel string
	var groups, yes bool
	c := answerCommand(p, &cobra.Command{
		Use:   "forget PERSON",
		Short: "Delete what is kept of a person, and keep what it has cost",
		Long: `forget takes the network's stable id of a person, as parley access ls shows it. It deletes the
sessions of their direct messages, their schedules, questions that were asked in their name
or of them, dead letters of their direct messages, that they were let in by a command or a
code, and a code that waits. In parley usage and parley budget ls they are "forgotten" from
then on, and no total changes.

In groups their words cannot be told from those of others, which quote and answer them: it
lists the sessions of groups in which they spoke to the bot, and deletes those with --groups.

That they were shut out stays, or they could come in again; so does what the configuration
says of them. docs/privacy.md says what else stays, and why.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, ask *admin.Client, args []string) (done erasure.Forgotten, err error) {
		t, err := ask.Traces(ctx, channel, args[0])
		if err != nil {
			return done, err
		}
		if !yes {
			if err := p.confirm(ctx, describeTraces(t, groups)); err != nil {
				return done, err
			}
		}
		done, err = ask.Forget(ctx, t.Channel, args[0], groups)
		if err == nil && len(done.Busy) > 0 {
			err = verdict{fmt.Errorf("not all is deleted yet: %s; do it again when that is over", sanitize(strings.Join(done.Busy, "; ")))}
		}
		return done, err
	}, func(b *bytes.Buffer, done erasure.Forgotten) { fmt.Fprintln(b, describeForgotten(done, groups)) })
	f := c.Flags()
	f.StringVar(&channel, "channel", "", "the name of the bot account, when the id is known on several")
	f.BoolVar(&groups, "groups", false, "also the sessions of groups in which they spoke to the bot")
	f.BoolVar(&yes, "yes", false, "without asking")
	return c
}

// describeTraces says what would be deleted of a person, and what not.
func describeTraces(t erasure.Traces, groups bool) string {
	text := fmt.Sprintf("Of %s on %s would be deleted: %s.", sanitize(t.ID), sanitize(t.Channel), listTraces(t, groups))
	if len(t.Groups) > 0 && !groups {
		text += "\n" + keptGroups(t)
	}
	return text + "\nWhat it has cost stays."
}

// listTraces lists what is deleted of a person.
func listTraces(t erasure.Traces, groups bool) string {
	parts := []string{plural(len(t.Direct), "session") + " of direct messages"}
	if groups {
		parts = append(parts, plural(len(t.Groups), "session")+" of groups")
	}
	for _, one := range []struct {
		n          int
		what, more string
	}{{t.Schedules, "schedule", ""}, {t.Permissions, "question", " for permission"}, {t.Questions, "question", " of programs"}, {t.Letters, "dead letter", ""}} {
		if one.n > 0 {
			parts = append(parts, plural(one.n, one.what)+one.more)
		}
	}
	if t.LetIn {
		parts = append(parts, "that they were let in")
	}
	if t.Code {
		parts = append(parts, "the code by which they asked to be let in")
	}
	return strings.Join(parts, ", ")
}

// keptGroups names the sessions of groups that stay.
func keptGroups(t erasure.Traces) string {
	ids := make([]string, len(t.Groups))
	for i, id := range t.Groups {
		ids[i] = string(id)
	}
	return fmt.Sprintf("They also spoke in %s of groups, which stay without --groups: %s.", plural(len(ids), "session"), strings.Join(ids, ", "))
}

// describeForgotten says what was deleted of a person, and what stays.
func describeForgotten(f erasure.Forgotten, groups bool) string {
	text := fmt.Sprintf("forgotten %s on %s: %s", sanitize(f.ID), sanitize(f.Channel), listTraces(f.Traces, groups))
	if len(f.Groups) > 0 && !groups {
		text += "\n" + keptGroups(f.Traces)
	}
	if f.ShutOut {
		text += "\nThat they are shut out stays; parley access allow takes it back."
	}
	return text
}
