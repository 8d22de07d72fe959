package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/sessionkeys"
)

// RefusedError says why a dead letter is not given to the bot again: a sentence
// for the operator.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func newRefusal(format string, a ...any) error { return &RefusedError{fmt.Sprintf(format, a...)} }

// Redeliver queues the message of a dead letter again, as one that was just
// received, for the conversation it came from. Nil means that it is stored; the
// letter is the caller's to forget, afterwards. Redelivering the same letter
// again, also after a crash between the two, adds nothing: the message's new
// event id comes from the letter's own, and is known like any other. A letter
// that the message ends as once more has another id.
//
// Who sent it must still be allowed to. What cannot be read, or may not be
// delivered, is a *RefusedError; after other errors it is unknown whether the
// message was stored.
func (i *Intake) Redeliver(ctx context.Context, l broker.DeadLetter) error {
	m, key, err := i.Reconstruct(ctx, l)
	if err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return newRefusal("message not encoded: %v", err)
	}
	_, err = i.Log.Publish(ctx, broker.Envelope{ID: messages.EventID(m), Token: key.Token(), Key: key.String(), Body: body})
	if errors.Is(err, broker.ErrTooLarge) {
		return newRefusal("message too large for the message log")
	}
	if err != nil {
		return fmt.Errorf("queue the message again: %w", err)
	}
	return nil
}

// Reconstruct returns the message that Redeliver would queue, and where. It reads no network.
func (i *Intake) Reconstruct(ctx context.Context, l broker.DeadLetter) (m channels.Message, key sessionkeys.Key, err error) {
	bad := func(err error) (channels.Message, sessionkeys.Key, error) {
		return channels.Message{}, sessionkeys.Key{}, err
	}
	if l.ID == "" || json.Unmarshal(l.Body, &m) != nil || m.Event == "" || m.Channel == "" || m.Kind == channels.Unreadable {
		return bad(newRefusal("message unreadable when it arrived, so parley cannot give it to the bot: " +
			"look at it with dead-letters show --body, ask its sender to write again, and drop it"))
	}
	if messages.ClaimsJob(m) {
		return bad(newRefusal("message is a run of the job %q, which is not given back: start another one with parley cron run", m.Job))
	}
	if m.Decision != nil {
		return bad(newRefusal("message carries a decision about a question for permission, which is not given back: decide once more, see parley approvals ls"))
	}
	src, ok := i.present().Sources[m.Channel]
	if !ok {
		return bad(newRefusal("message of the channel %q, which is no longer configured", m.Channel))
	}
	d, err := standing(ctx, i.People, m.Channel, m.Sender)
	if err != nil {
		return bad(err)
	}
	if v := src.Access.Authorize(m, d.Ruling, m.Origin); !v.Allowed {
		return bad(newRefusal("message refused: %s", v.Hint))
	}
	if m.Kind != channels.Said && m.Kind != channels.Edited || m.IsBlank() {
		return bad(newRefusal("message without text or files to answer"))
	}
	if c, ok := messages.ParseCommand(m.Text); ok && c.Kind() != messages.Queued {
		return bad(newRefusal("message is the command /%s, which would mean something else now", c.Name))
	}
	m.Event = messages.ID{Kind: messages.Redelivered, About: l.ID}.String()
	// It is to be answered by itself: as a piece of something it had no mention,
	// and as an edit it would change nothing that was said.
	m.Kind, m.Mentioned = channels.Said, true
	m.ReceivedAt = i.Now()
	if key, err = sessionkeys.For(src.Bound.AgentFor(m, m.Origin), m.Address); err != nil {
		return bad(newRefusal("message without a valid conversation key: %v", err))
	}
	if problem := cmp.Or(src.addressProblem(m.Address), idProblem(m)); problem != "" {
		return bad(newRefusal("%s", problem))
	}
	if n := m.TextSize(); n > messages.MaxText {
		return bad(newRefusal("message has %d bytes of text, and at most %d are read", n, messages.MaxText))
	}
	return m, key, nil
}
