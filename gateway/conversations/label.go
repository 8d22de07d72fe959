package conversations

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// maxLabel is the most characters of a label.
const maxLabel = 60

// noWords is the label of a session whose first message has none.
const noWords = "(no words)"

// erasedLabel is the label of a session whose content was deleted.
const erasedLabel = "(deleted)"

// Label returns what a session is called: its title; until it has one the beginning of its
// first message, on one line, without anything that is not shown. A title that cannot be read
// is none. (ruling 28)
func Label(ctx context.Context, s Store, id sessionkeys.SessionID, now time.Time) (string, error) {
	if erased, err := IsErased(ctx, s, id, now); erased || err != nil {
		return erasedLabel, err
	}
	title, err := ReadTitle(ctx, s, id, now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return "", err
	}
	if title.Text != "" {
		return title.Text, nil
	}
	first, err := s.MessagesAfter(ctx, id, 0, 1)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read the first message of session %s: %w", id, err)
	}
	for _, m := range first {
		if text := OneLine(beginning(m)); text != "" {
			return text, nil
		}
	}
	return noWords, nil
}

// IsErased reports whether the content of a session was deleted.
func IsErased(ctx context.Context, s records.Store, id sessionkeys.SessionID, now time.Time) (bool, error) {
	_, err := s.Record(ctx, sessions.ErasedRecord(id), now)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether session %s was deleted: %w", id, err)
	}
	return true, nil
}

// maxWords is how many bytes of a message a title is made from at most.
const maxWords = 2000

// OwnWords returns what the sender of a message wrote, as far as a title is made from it.
func OwnWords(m transcript.Message) string {
	var b strings.Builder
	for line := range ownLines(m) {
		b.WriteString(line + "\n")
	}
	words := strings.TrimSpace(b.String())
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "")
	}
	return words
}

// beginning returns the first line of a message that its sender wrote.
func beginning(m transcript.Message) string {
	for line := range ownLines(m) {
		return line
	}
	return ""
}

// ownLines yields the lines of a message that its sender wrote, without those that have
// nothing to show. Lines in brackets name others' words, and those stand behind "> "; in a
// group the sender's name is in brackets before the sender's own.
func ownLines(m transcript.Message) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(m.Text()) {
			if strings.HasPrefix(line, "> ") {
				continue
			}
			if rest, ok := strings.CutPrefix(line, "["); ok {
				_, line, _ = strings.Cut(rest, "]")
			}
			if line = strings.TrimSpace(line); OneLine(line) != "" && !yield(line) {
				return
			}
		}
	}
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
