package conversations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// maxLabel is the most characters of a label.
const maxLabel = 60

// noWords is the label of a session whose first message has none.
const noWords = "(no words)"

// Label returns what a session is called: the beginning of its first message, on one line,
// without anything that is not shown.
func Label(ctx context.Context, s Store, id sessionkeys.SessionID, _ time.Time) (string, error) {
	first, err := s.MessagesAfter(ctx, id, 0, 1)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read the first message of session %s: %w", id, err)
	}
	for _, m := range first {
		if text := beginning(m); text != "" {
			return text, nil
		}
	}
	return noWords, nil
}

// beginning returns the first line of a message that its sender wrote. Lines in brackets
// name others' words, and those stand behind "> "; in a group the sender's name is in
// brackets before the sender's own.
func beginning(m transcript.Message) string {
	for line := range strings.Lines(m.Text()) {
		if strings.HasPrefix(line, "> ") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			_, line, _ = strings.Cut(rest, "]")
		}
		if text := OneLine(line); text != "" {
			return text
		}
	}
	return ""
}

// OneLine returns text on one line, without anything that is not shown, and not too long.
func OneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
	if r := []rune(text); len(r) > maxLabel {
		text = string(r[:maxLabel]) + "…"
	}
	return text
}

// Code returns a label as Markdown: a piece of code, so that the words look like nothing
// else.
func Code(label string) string { return "`" + strings.ReplaceAll(label, "`", "'") + "`" }
