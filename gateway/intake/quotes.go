package intake

import (
	"context"

	"parley/channels"
)

// Most bytes of a quote. A reply lets words of another person into the
// conversation: of an authorized person as many as of a message of the
// largest network, and of anybody else no more than shows what is answered. What the
// bot itself wrote is in its history: its beginning tells which answer is meant.
const (
	maxQuoted    = 16 << 10
	maxUntrusted = 1 << 10
	maxOwn       = 300
)

// judgeQuotes bounds what the message carries of others, and marks as untrusted what
// is not of an authorized person.
func (i *Intake) judgeQuotes(_ context.Context, e *event) (outcome, error) {
	judge := func(q channels.Quote) channels.Quote {
		q.Untrusted = !q.FromBot && !e.source.Access.AuthorizePerson(q.Author).Allowed
		return q
	}
	if e.ReplyTo != nil {
		q := judge(*e.ReplyTo)
		limit := maxQuoted
		switch {
		case q.Untrusted:
			limit = maxUntrusted
		case q.FromBot && !q.IsExcerpt:
			limit = maxOwn
		}
		q.Text = truncate(q.Text, limit)
		e.ReplyTo = &q
	}
	for n, q := range e.Forwarded {
		e.Forwarded[n] = judge(q)
	}
	return pass, nil
}
