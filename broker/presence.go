package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// presenceTopic is where those who are there answer.
func presenceTopic(name string) string { return "here." + name }

// presence knows which processes are there.
type presence struct{ *conn }

// Attend is a sign of this process, under name, until ctx ends; then it returns ctx's
// error. The servers know of it for as long as the connection is there, which a process
// that dies takes with it, and one that is only stopped keeps. A name is as a topic.
func (b presence) Attend(ctx context.Context, name string) error {
	if !isTopic(name) {
		return errors.New("attend: a name is [a-z0-9_.-]+")
	}
	sub, err := b.nc.Subscribe(prefixSignal+presenceTopic(name), func(m *nats.Msg) { _ = m.Respond(nil) })
	if err != nil {
		return fmt.Errorf("attend as %s: %w", name, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("attend as %s: %w", name, context.Cause(ctx))
	case <-b.done:
		return fmt.Errorf("attend as %s: %w", name, ErrClosed)
	}
}

// IsAttended asks once whether a process attends under name: true when it answers, false
// when the NATS server of this process knows of no subscriber under that name. False may
// also mean that the server of the other process has restarted, or that the two servers
// do not reach each other. An error leaves both open: the process may be stopped, or the
// server away.
func (b presence) IsAttended(ctx context.Context, name string) (bool, error) {
	if !isTopic(name) {
		return false, errors.New("ask who attends: a name is [a-z0-9_.-]+")
	}
	_, err := b.nc.RequestWithContext(ctx, prefixSignal+presenceTopic(name), nil)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, nats.ErrNoResponders):
		return false, nil
	}
	return false, fmt.Errorf("ask whether %s attends: %w", name, err)
}

// Era is another number whenever the connection was lost in between: what IsAttended
// said in an earlier one was said by another server, or before it restarted.
func (b presence) Era() uint64 { return b.nc.Stats().Reconnects }
