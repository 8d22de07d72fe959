package delivery

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/channels"
	"parley/sessions"
)

// dropButtons takes the buttons off the question with which a turn ended. Where they stay, a
// press is told that it comes too late: so do those of a message that says that it may be a
// repeat, which an edit would no longer say.
func (ps *previews) dropButtons(ctx context.Context, turn string, at destination) error {
	ed, ok := ps.ch.(channels.Editor)
	if !ok {
		return nil
	}
	d, err := ps.Store.Delivery(ctx, turn)
	if err != nil {
		return fmt.Errorf("look for a question: %w", err)
	}
	if len(d.Parts) == 0 || at.movedSince(d.At) {
		return nil
	}
	last := d.Parts[len(d.Parts)-1]
	var b storedBody
	if err := json.Unmarshal(last.Body, &b); err != nil {
		return fmt.Errorf("read a question: %w", err)
	}
	if last.State != sessions.Sent || last.MessageID == "" || last.Repeats > 0 || len(b.Choices) == 0 {
		return nil
	}
	b.Choices = nil
	if err := ed.Edit(ctx, at.to, last.MessageID, b.Body); err != nil {
		return fmt.Errorf("take the buttons off a question: %w", err)
	}
	return nil
}
