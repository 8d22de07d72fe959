package try

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/gateway"
	"parley/gateway/messages"
)

// question is a line that was said to the bot and has no answer yet.
type question struct {
	chat string
	kind kind
	at   time.Time
}

type kind int

const (
	message  kind = iota // opens a turn
	atOnce               // a command that does not queue
	queued               // a command that keeps its place
	decision             // a command that does so, and opens a turn if it permits something
	stop                 // ends what runs and drops what waits: those have no answer of their own
)

// openQuestions is the questions, in the order they were asked.
type openQuestions []question

func (w *openQuestions) add(chat, text string, at time.Time) {
	*w = append(*w, question{chat: chat, kind: kindOf(text), at: at})
}

// takeAnswered takes out the question that a answers, and every other one that will
// have no answer any more. It gives the time at which it was asked, or false
// if nobody asked.
//
// An answer does not name its question, but they come in an order: what is
// answered at once never waits for anything, and stopping comes before what
// queues.
func (w *openQuestions) takeAnswered(a gateway.Answer) (time.Time, bool) {
	order := [][]kind{{atOnce}, {stop}, {queued, decision}, {message}}
	if a.Turn != "" {
		order = [][]kind{{message, decision}}
	}
	for _, ks := range order {
		i := slices.IndexFunc(*w, func(q question) bool { return q.chat == a.Chat && slices.Contains(ks, q.kind) })
		if i < 0 {
			continue
		}
		at, k := (*w)[i].at, (*w)[i].kind
		*w = slices.Delete(*w, i, i+1)
		if k == stop {
			before := slices.DeleteFunc(slices.Clone((*w)[:i]), func(q question) bool { return q.chat == a.Chat })
			*w = append(before, (*w)[i:]...)
		}
		return at, true
	}
	return time.Time{}, false
}

var (
	mention = regexp.MustCompile(`(?i)(?:^|[^a-z0-9_])(@` + botUsername + `)(?:$|[^a-z0-9_])`)
	command = regexp.MustCompile(`(?i)^/[a-z0-9_]+@` + botUsername + `(?:$|[^a-z0-9_])`)
)

// isForBot reports whether a text in a group is for the bot, as people's programs
// mark it.
func isForBot(text string) bool { return mention.MatchString(text) || command.MatchString(text) }

func kindOf(text string) kind {
	at := "@" + botUsername
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToLower(text), at))
	c, ok := messages.ParseCommand(strings.Replace(text, at, "", 1))
	if !ok || c.IsTurn() {
		return message
	}
	if _, ok := c.Decides(); ok {
		return decision
	}
	switch c.Kind() {
	case messages.Control:
		return stop
	case messages.Queued:
		return queued
	case messages.AtOnce:
	}
	return atOnce
}
