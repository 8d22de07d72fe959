package conversations

import (
	"context"
	"strings"
	"time"
	"unicode"

	"parley/costs"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// titleRecord is the kind of a session's title; its key is the session's id.
const titleRecord = "title"

// MaxTitleAttempts is how often a model is asked for the title of one session, at most.
const MaxTitleAttempts = 2

// maxTitleWords is the most words of a title that a model gave. (ruling 28)
const maxTitleWords = 6

// Title is what a session is called, and what stands about asking a model for it. It is
// written ahead: the reservation of a call before the call is made, and what the call cost
// together with its words, before that is booked. So whatever commit a process dies after,
// the next one knows what is owed.
type Title struct {
	Text     string `json:"text,omitempty"`     // "": none yet
	Given    bool   `json:"given,omitempty"`    // by a person: no model is asked
	Attempts int    `json:"attempts,omitempty"` // model calls that were begun

	// Asking is the call that was begun and not ended; nil: none.
	Asking *costs.Reservation `json:"asking,omitempty"`
	// Owed is what the call that ended is to be booked with; nil: it is.
	Owed *costs.Entry `json:"owed,omitempty"`

	revision int64 // as read; 0: there is none
}

func titleID(id sessionkeys.SessionID) sessions.RecordID {
	return sessions.RecordID{Kind: titleRecord, Key: string(id)}
}

// ReadTitle returns the title of a session; the zero value when none was asked for. With
// [records.ErrUnreadable] it returns an empty title that can be written over the one that is
// there.
func ReadTitle(ctx context.Context, s records.Store, id sessionkeys.SessionID, now time.Time) (Title, error) {
	t, revision, err := records.Read[Title](ctx, s, titleID(id), now)
	t.revision = revision
	return t, err // it says of which session
}

// Record returns the title as it is written: over the one that was read. The write is
// sessions.ErrChanged when another was faster.
func (t Title) Record(id sessionkeys.SessionID, at time.Time) (sessions.Record, error) {
	return records.New(titleID(id), t.revision, t, at) // it says of which session
}

// Erased returns what is left of the title when the words of its session are deleted: what is owed for
// calls. No model is asked any more, and none that was asked gives a title.
func (t Title) Erased() Title {
	t.Text, t.Given, t.Attempts = "", true, MaxTitleAttempts
	return t
}

// IsErased reports whether t is what Erased left.
func (t Title) IsErased() bool { return t.Given && t.Text == "" }

// At returns the title as one that was read at a revision.
func (t Title) At(revision int64) Title {
	t.revision = revision
	return t
}

// CleanTitle returns what a model wrote as a title: its first line that has words, at most six
// of them, without markup and without anything that is not shown; "" when nothing is left.
func CleanTitle(text string) string { return cleanTitle(text, maxTitleWords) }

// GivenTitle is CleanTitle of what a person wrote, who may take more words.
func GivenTitle(text string) string { return cleanTitle(text, maxLabel) }

func cleanTitle(text string, most int) string {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case !unicode.IsGraphic(r), strings.ContainsRune("*_`#~<>[]{}|\\\"“”„«»", r):
				return -1
			}
			return r
		}, line)
		words := strings.Fields(line)
		if len(words) > 1 && strings.EqualFold(words[0], "Title:") {
			words = words[1:]
		}
		words = words[:min(len(words), most)]
		title := strings.Trim(strings.Join(words, " "), " .:;,-–—'")
		if r := []rune(title); len(r) > maxLabel {
			title = strings.TrimSpace(string(r[:maxLabel-1])) + "…"
		}
		if title != "" {
			return title
		}
	}
	return ""
}
