package intake

import (
	"context"
	"fmt"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
)

// Inquiries are what programs and MCP servers ask people.
type Inquiries interface {
	// Take takes a message that answers one, and returns what its sender reads, or the message in
	// its place to the agent that waits for the answer; neither: it answers none. The same
	// message may come again. c is the command that it is.
	Take(ctx context.Context, m channels.Message, c messages.Command) (text string, toAgent *channels.Message, err error)
}

// takeReply takes what answers an inquiry. Everything else passes, and so does what an agent waits
// for, in words of ours.
func (d *frontDesk) takeReply(ctx context.Context, e *event) (outcome, error) {
	if d.inquiries == nil {
		return pass, nil
	}
	text, toAgent, err := d.inquiries.Take(ctx, e.Message, e.command)
	if err != nil {
		return stop, fmt.Errorf("look whether the event %s answers an inquiry: %w", e.Event, err)
	}
	if toAgent != nil { // perhaps in another conversation of theirs
		e.Message, e.command = *toAgent, messages.Command{}
		return d.queue.findKey(ctx, e)
	}
	if text == "" {
		return pass, nil
	}
	d.remember(e.Message, outcomes.Answered, "it answers what a program or server asked, and waits for no turn")
	return stop, d.answer(ctx, e.Message, text)
}
