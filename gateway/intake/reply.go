package intake

import (
	"context"
	"fmt"

	"parley/channels"
	"parley/gateway/messages"
)

// Inquiries are what programs ask people.
type Inquiries interface {
	// Take takes a message that answers one, and returns what its sender reads; empty: it answers
	// none. The same message may come again. c is the command that it is, and sign that with which
	// commands begin there.
	Take(ctx context.Context, m channels.Message, c messages.Command, sign string) (text string, err error)
}

// takeReply takes what answers a program's question, which no agent reads. Everything else passes.
func (i *Intake) takeReply(ctx context.Context, e *event) (outcome, error) {
	if i.Inquiries == nil {
		return pass, nil
	}
	text, err := i.Inquiries.Take(ctx, e.Message, e.command, e.source.CommandSign)
	if err != nil {
		return stop, fmt.Errorf("look whether the event %s answers a program's question: %w", e.Event, err)
	}
	if text == "" {
		return pass, nil
	}
	return stop, i.answer(ctx, e.Message, text)
}
