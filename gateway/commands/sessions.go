package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/gateway/conversations"
	"parley/gateway/messages"
	"parley/sessions"
)

// shownSessions is how many earlier sessions /sessions names.
const shownSessions = 10

const noEarlier = "There are no earlier conversations here."

// answerSessions lists the sessions that the conversation had before its present one.
func (d *Handler) answerSessions(ctx context.Context, by messages.Caller, sign string) (string, error) {
	m, present, found, err := d.findConversation(ctx, by.Token)
	if err != nil {
		return "", err
	}
	if !found {
		return nothingYet, nil
	}
	now := d.Now()
	book, err := conversations.Read(ctx, d.Store, by.Token, now)
	if err = d.passUnreadable(err); err != nil {
		return "", err
	}
	var b strings.Builder
	if present.Messages > 0 {
		line, err := d.sessionLine(ctx, present, now)
		if err != nil {
			return "", err
		}
		b.WriteString("The present conversation: " + line + "\n\n")
	}
	earlier := book.Except(m.Session)
	if len(earlier) == 0 {
		return b.String() + noEarlier, nil
	}
	listed, latest, err := d.listEarlier(ctx, earlier[:min(len(earlier), shownSessions)], now)
	if err != nil {
		return "", err
	}
	if listed == "" {
		return b.String() + noEarlier, nil
	}
	b.WriteString("Earlier ones here, the latest first:\n\n" + listed)
	if more := len(earlier) - shownSessions; more > 0 {
		fmt.Fprintf(&b, "\nand %d more: %sresume with words of a title finds them too.", more, sign)
	}
	if latest > 0 {
		fmt.Fprintf(&b, "\n%sresume %d goes on with that one; the present one is kept.", sign, latest)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// listEarlier lists earlier sessions. latest is the number of the first that /resume can go on with;
// 0: there is none.
func (d *Handler) listEarlier(ctx context.Context, earlier []conversations.Earlier, now time.Time) (list string, latest int, err error) {
	for _, e := range earlier {
		s, err := d.Store.Session(ctx, e.Session)
		if errors.Is(err, sessions.ErrNotFound) { // as after a restore
			continue
		}
		if err != nil {
			return "", 0, fmt.Errorf("look at an earlier session: %w", err)
		}
		line, err := d.sessionLine(ctx, s, now)
		if err != nil {
			return "", 0, err
		}
		list += fmt.Sprintf("- %d: %s\n", e.Number, line)
		if latest > 0 {
			continue
		}
		erased, err := conversations.IsErased(ctx, d.Store, s.ID, now)
		if err != nil {
			return "", 0, err // it says of which session
		}
		if !erased {
			latest = e.Number
		}
	}
	return list, latest, nil
}

// sessionLine says what a session is called, how old and how long it is, and what it cost.
func (d *Handler) sessionLine(ctx context.Context, s sessions.Session, now time.Time) (string, error) {
	label, err := conversations.Label(ctx, d.Store, s.ID, now)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s, %s, %s", conversations.Code(label), formatAge(now.Sub(s.UpdatedAt)), plural(s.Messages, "message"), s.Subtree.Display()), nil
}

// formatAge says how long ago something was.
func formatAge(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return plural(int(d/time.Hour), "hour") + " ago"
	}
	return plural(int(d/(24*time.Hour)), "day") + " ago"
}
