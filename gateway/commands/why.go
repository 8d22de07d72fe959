package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/gateway/budgets"
	"parley/gateway/fates"
	"parley/gateway/messages"
	"parley/sessions"
	"parley/transcript"
)

// Fates says what became of messages.
type Fates interface {
	// FindOwn returns what became of somebody's own message; nil: nothing is known of it.
	FindOwn(ctx context.Context, o fates.Own) (*fates.Fate, error)
}

// noFateText is also what somebody reads who asks about a message of another person: whether there is
// one is not said.
const noFateText = "I know nothing of such a message of yours here. I remember those of this conversation, since it began; reply with this command to one of your messages, or to my answer."

// answerWhy says to a person what became of their last message, or of the one that they reply to.
func (d *Handler) answerWhy(ctx context.Context, by messages.Caller, sign string) (string, error) {
	if d.Fates == nil {
		return noFateText, nil
	}
	f, err := d.Fates.FindOwn(ctx, fates.Own{Token: by.Token, Channel: by.Channel, Chat: by.Chat, Sender: by.Sender, Message: by.Quoted})
	if err != nil {
		return "", fmt.Errorf("look what became of a message: %w", err)
	}
	if f == nil {
		return noFateText, nil
	}
	return describeFate(*f, sign), nil
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC on 2 January") }

// describeFate tells a person what became of their message. It quotes nothing of it. Commands begin
// with sign where they read it.
func describeFate(f fates.Fate, sign string) string {
	lines := []string{"Your message of " + clockTime(f.ReceivedAt) + ":"}
	add := func(format string, a ...any) { lines = append(lines, "– "+fmt.Sprintf(format, a...)) }
	switch f.Verdict {
	case fates.PassedOver:
		add("passed over: %s", f.Why)
	case fates.AtOnce:
		add("answered at once: %s", f.Why)
	case fates.DeadLettered:
		add("given up, because I failed at it several times or cannot read it; the operator can see why")
	default:
		add("heard: %s", f.Why)
	}
	switch f.Verdict {
	case fates.Waiting:
		add("waits for its turn since %s", clockTime(f.QueuedAt))
	case fates.Command:
		add("carried out as a command, without a model")
	}
	if t := f.Turn; t != nil {
		describeTurn(add, f, *t, sign)
	}
	for _, a := range f.Answers {
		describeAnswer(add, a)
	}
	return strings.Join(lines, "\n")
}

func describeTurn(add func(format string, a ...any), f fates.Fate, t sessions.Turn, sign string) {
	how, since := "taken up after "+inSeconds(max(t.OpenedAt.Sub(f.ReceivedAt), 0)), t.OpenedAt
	if f.Joined {
		how, since = "joined what I was doing for an earlier message of yours", f.ReceivedAt
	}
	if t.State == sessions.Done {
		how += ", " + outcomeInWords(t.Outcome, inSeconds(max(t.EndedAt.Sub(since), 0))+" later")
	} else {
		how += ", and I am still at it"
	}
	if t.Attempts > 1 {
		how += fmt.Sprintf("; I began %d times", t.Attempts)
	}
	add("%s", how)
	if b := t.Refused; b != nil && t.Outcome == transcript.Budget {
		add("the reason: %s", budgets.Explain(b, sign+"new")) // which says no amounts of what others share
	}
	spent := max(f.Money.Total, f.Money.Spent)
	text := fmt.Sprintf("set aside: %s for %s; spent: %s", f.Money.Reserved.Display(), plural(f.Money.Calls, "call"), spent.Display())
	if more := spent - f.Money.Spent; more > 0 {
		text += fmt.Sprintf(", %s of it by sub-agents and for titles", more.Display())
	}
	if f.Money.Held > 0 {
		text += fmt.Sprintf("; still held: %s", f.Money.Held.Display())
	}
	add("%s", text)
}

// inSeconds returns a duration as far as it matters to people.
func inSeconds(d time.Duration) string { return d.Round(time.Second / 10).String() }

// outcomeInWords says how a turn ended, and when.
func outcomeInWords(o transcript.FinishReason, when string) string {
	switch o {
	case transcript.EndTurn, transcript.Done:
		return "answered " + when
	case transcript.MaxTokens:
		return "answered " + when + ", and the answer was cut because it was too long"
	case transcript.Canceled, transcript.Stopped:
		return "stopped " + when
	case transcript.Waiting:
		return "ended " + when + " with a question for permission"
	case transcript.PermissionDenied:
		return "ended " + when + " because permission was denied"
	case transcript.Budget:
		return "ended by a budget " + when
	case transcript.MaxIterations:
		return "ended " + when + " after as many steps as I may take"
	case transcript.ContextLimit:
		return "ended " + when + " because the conversation has become too long for me"
	case transcript.Refusal:
		return "ended " + when + " because the model would not answer"
	case transcript.TimedOut:
		return "given up " + when + " because it took too long"
	case transcript.Failed:
		return "failed " + when
	}
	return "ended " + when + ": " + strings.ReplaceAll(string(o), "_", " ")
}

// describeAnswer says how far an answer is sent. What stands in the place of a file that was sent is
// none of its messages.
func describeAnswer(add func(format string, a ...any), a sessions.Delivery) {
	parts := slices.DeleteFunc(slices.Clone(a.Parts), sessions.Part.IsUnneeded)
	sent, last := 0, time.Time{}
	var rest *sessions.Part // the first that is not sent
	for i, p := range parts {
		switch {
		case p.State == sessions.Sent:
			sent++
			last = p.At
		case rest == nil:
			rest = &parts[i]
		}
	}
	switch {
	case len(parts) == 0, sent == 0 && rest.State == sessions.Queued:
		add("the answer waits to be sent since %s", clockTime(a.At))
	case rest == nil:
		add("sent at %s, in %s", clockTime(last), plural(sent, "message"))
	case sent == 0:
		add("the answer %s", sendStateInWords(*rest))
	default:
		add("%d of %s sent, the last at %s; another %s", sent, plural(len(parts), "message"), clockTime(last), sendStateInWords(*rest))
	}
}

// sendStateInWords says, behind its name, what became of a message that is not known to be sent.
func sendStateInWords(p sessions.Part) string {
	switch {
	case p.State == sessions.Queued:
		return "waits to be sent"
	case p.State == sessions.Sending:
		return "is being sent"
	case p.State == sessions.Ambiguous:
		return "may have arrived, which I do not know yet"
	case p.Reason == sessions.Unconfirmed:
		return "was sent again and again, and I do not know whether it arrived"
	}
	return "could not be sent; the operator can see why"
}
