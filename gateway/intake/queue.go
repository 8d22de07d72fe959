package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/broker"
	"parley/faultpoint"
	"parley/gateway/messages"
	"parley/sessionkeys"
)

// queue puts messages under the keys of their conversations.
type queue struct {
	*endings
	pieces *pieces
}

// findKey finds the conversation to which the event belongs.
func (q *queue) findKey(ctx context.Context, e *event) (_ outcome, err error) {
	if e.key, err = sessionkeys.For(e.agent(), e.Address); err != nil {
		return stop, q.deadLetter(ctx, e.Message, sessionkeys.Key{}, "address", err.Error())
	}
	return pass, nil
}

// publish queues the message under its key.
func (q *queue) publish(ctx context.Context, e *event) (outcome, error) {
	body, err := json.Marshal(e.Message)
	if err != nil {
		return stop, q.deadLetter(ctx, e.Message, e.key, "encoding", err.Error())
	}
	faultpoint.Hit("intake.publish.before")
	_, err = q.log.Publish(ctx, broker.Envelope{ID: messages.EventID(e.Message), Token: e.key.Token(), Key: e.key.String(), Body: body})
	if errors.Is(err, broker.ErrTooLarge) {
		return stop, q.deadLetter(ctx, e.Message, e.key, "too_large", err.Error())
	}
	if err != nil {
		return stop, fmt.Errorf("queue the message: %w", err)
	}
	faultpoint.Hit("intake.publish.after") // the network is not told yet
	return pass, nil
}

// rememberPiece remembers what was queued if its text may go on in the next
// message.
func (q *queue) rememberPiece(_ context.Context, e *event) (outcome, error) {
	if !e.isCommand() {
		q.pieces.remember(e.Message)
	}
	return pass, nil
}
