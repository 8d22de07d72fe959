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
func (g *gate) judgeQuotes(ctx context.Context, e *event) (outcome, error) {
	if e.ReplyTo != nil {
		q, err := g.judgeQuote(ctx, e, *e.ReplyTo)
		if err != nil {
			return stop, err
		}
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
		var err error
		if e.Forwarded[n], err = g.judgeQuote(ctx, e, q); err != nil {
			return stop, err
		}
	}
	return pass, nil
}

// judgeQuote marks q as untrusted unless its author may talk to the bot where e was said.
func (g *gate) judgeQuote(ctx context.Context, e *event, q channels.Quote) (channels.Quote, error) {
	d, err := e.standing, error(nil)
	if q.Author.ID != e.Sender.ID {
		d, err = standing(ctx, g.people, e.Channel, q.Author)
	}
	q.Untrusted = !q.FromBot && !e.source.Access.AuthorizePerson(q.Author, e.Address.Kind, d.Ruling).Allowed
	return q, err
}
