package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errCodeStoreFailed and its companions are the server's words for "no room".
const (
	errCodeStoreFailed       = 10077
	errCodeStorageExceeded   = 10047
	errCodeResourcesExceeded = 10023
	errCodeAccountExceeded   = 10002
)

// Publish stores e in its mailbox and returns its place in the log. Nil means
// stored, and synced to disk where the broker is strict. The same ID again in
// the same mailbox, within 10 minutes, stores nothing and returns the first
// one's place; the same ID in another mailbox is another message.
//
// It repeats itself, with the same ID, until the engine confirms, ctx ends or
// Options.Timeout has passed; on ErrUnavailable and on ctx's error the envelope
// may be stored or not. ErrFull and ErrTooLarge mean that it is not.
// Two envelopes that one caller publishes one after the other keep that order.
// Safe for concurrent use.
func (b *inboundLog) Publish(ctx context.Context, e Envelope) (seq uint64, err error) {
	switch {
	case !isToken(e.Token):
		return 0, errors.New("publish: the token is not 32 hex digits")
	case e.ID == "":
		return 0, errors.New("publish: the envelope has no id")
	case len(e.Body) > b.maxBody:
		return 0, fmt.Errorf("publish: %w: a body of %d bytes, %d are taken", ErrTooLarge, len(e.Body), b.maxBody)
	case len(e.ID)+len(e.Key) > maxMeta:
		return 0, fmt.Errorf("publish: %w: id and key of %d bytes", ErrTooLarge, len(e.ID)+len(e.Key))
	}
	seq, err = b.store(ctx, "publish", streamInbound, mailboxSubject(e.Token), messageID(e.Token, e.ID), e.encode(), nil)
	if err == nil {
		b.noteSeq(seq)
	}
	return seq, err
}

// translateError turns the server's words into ours.
func translateError(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return ErrTooLarge
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return ErrTooLarge
	case errCodeStorageExceeded, errCodeResourcesExceeded, errCodeAccountExceeded:
		return ErrFull
	case errCodeStoreFailed:
		switch api.Description {
		case "maximum bytes exceeded", "maximum messages exceeded":
			return ErrFull
		case "maximum messages per subject exceeded":
			return errStoredBefore
		}
	}
	return err
}

// errStoredBefore: the subject takes one message and has it.
var errStoredBefore = errors.New("stored before")
