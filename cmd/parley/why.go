package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/gateway/fates"
)

func whyCommand(p program) *cobra.Command {
	var q admin.WhyQuery
	c := answerCommand(p, &cobra.Command{
		Use:   "why MESSAGE",
		Short: "Say what became of a message: passed over and why, or its turn, its cost and its answers",
		Long: `why takes the id of a message as its network and parley's log name it (message), the
id of its event, or of its turn. It knows the messages of about a week: those that were
passed over, by which rule (of each channel and sort the last 200), and those that were
queued, with what was reserved and spent for them and what was sent when. It quotes
nothing of them. It ends with 1 when it knows of no such message.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.Fates, error) {
		q.Message = args[0]
		found, err := ask.Why(ctx, q)
		if err == nil && len(found.Fates) == 0 {
			err = verdict{fmt.Errorf("nothing is known of the message %s: it is older than a week, never reached this gateway, or was one of too many", sanitize(args[0]))}
		}
		return found, err
	}, printFates)
	c.Flags().StringVar(&q.Channel, "channel", "", "only of this channel")
	c.Flags().StringVar(&q.Chat, "chat", "", "only in the chat of this id, as its network has it")
	return c
}

func printFates(b *bytes.Buffer, found admin.Fates) {
	for i, f := range found.Fates {
		if i > 0 {
			b.WriteByte('\n')
		}
		printFate(b, f)
	}
	if len(found.Fates) == fates.MostFates {
		b.WriteString("\nThere may be more: --channel and --chat say which is meant.\n")
	}
}

func printFate(b *bytes.Buffer, f admin.Fate) {
	line := func(name, format string, a ...any) {
		_, _ = fmt.Fprintf(b, "%-14s %s\n", name, sanitize(fmt.Sprintf(format, a...)))
	}
	from := f.Sender
	if f.Name != "" {
		from += " (" + f.Name + ")"
	}
	line("message", "%s in chat %s of %s, from %s", dash(f.Message), dash(f.Chat), f.Channel, dash(from))
	line("received", "%s", formatTime(f.ReceivedAt))
	switch f.Verdict {
	case fates.PassedOver:
		if f.Reason == "" {
			line("passed over", "%s", f.Why)
		} else {
			line("passed over", "%s (%s)", f.Why, f.Reason)
		}
	case fates.AtOnce:
		line("answered", "at once: %s", f.Why)
	case fates.DeadLettered:
		line("dead letter", "%s: %s; parley dead-letters show %s", f.Reason, f.Why, f.Letter)
	default:
		line("heard", "%s", f.Why)
	}
	if f.Key != "" {
		line("queued", "%s, in %s", formatTime(f.QueuedAt), f.Key)
	}
	switch f.Verdict {
	case fates.Waiting:
		line("waits", "no turn has taken it yet")
	case fates.Command:
		line("carried out", "as a command, without a model")
	}
	if t := f.Turn; t != nil {
		printFateTurn(line, *t)
	}
	for _, a := range f.Answers {
		printFateAnswer(line, a)
	}
}

func printFateTurn(line func(name, format string, a ...any), t admin.FateTurn) {
	how := "runs since " + formatTime(t.OpenedAt)
	if t.Outcome != "" {
		how = fmt.Sprintf("%s after %s", t.Outcome, t.EndedAt.Sub(t.OpenedAt).Round(time.Millisecond))
	}
	if t.Attempts > 1 {
		how += fmt.Sprintf(", taken up %d times", t.Attempts)
	}
	if t.Joined {
		how += "; another message had opened it"
	}
	line("turn", "%s: %s, %s", t.ID, how, plural(t.Steps, "step"))
	session := string(t.Session)
	if t.Deleted != nil {
		session += ", whose content was deleted " + t.Deleted.String()
	}
	line("session", "%s", session)
	line("reserved", "%s for %s", t.Reserved, plural(t.Calls, "call"))
	spent := t.Spent.String()
	if t.Total > t.Spent {
		spent += fmt.Sprintf(", with sub-agents and titles %s", t.Total)
	}
	if t.Held > 0 {
		spent += fmt.Sprintf("; %s is still held", t.Held)
	}
	line("spent", "%s", spent)
}

func printFateAnswer(line func(name, format string, a ...any), a admin.FateAnswer) {
	if len(a.Parts) == 0 {
		line("answer", "to send since %s", formatTime(a.QueuedAt))
		return
	}
	for _, p := range a.Parts {
		text := p.State + " " + formatTime(p.At)
		if p.Message != "" {
			text += ", as message " + p.Message
		}
		if p.Attempts > 1 {
			text += fmt.Sprintf(", at attempt %d", p.Attempts)
		}
		if p.Problem != "" {
			text += ": " + strings.TrimSpace(p.Problem)
		}
		line("answer", "%s", text)
	}
}

// dash is s, or a dash where there is none.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
