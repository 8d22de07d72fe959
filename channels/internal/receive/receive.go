// Package receive is the part of a receiver that is the same on every network.
//
// Loop retries what the network refuses for the moment, tells the observer and
// the log whether the account is connected, and offers each event until it is
// taken. Queue keeps the events of one chat in their order. Gate lets the
// requests of a webhook in while Receive runs. Waits keeps the waits that a
// network asks for. Account is what an adapter has of them. What differs between networks is given as values.
package receive

import (
	"context"
	"errors"
	"time"

	"parley/channels"
	"parley/channels/internal/backoff"
	"parley/pause"
)

// Config sets whose loop it is. All fields but Conflict are required.
type Config struct {
	channels.Common        // with its defaults
	Network         string // who asks for waits, in the log
	Peer            string // who is out of reach, in the log
	// Identity is as whom the account is connected: attributes of the log, asked for
	// each time that it is.
	Identity func() []any
	Conflict Conflict
}

// Conflict describes a failure that only an operator can end. The zero value
// recognises none.
type Conflict struct {
	Is      func(error) bool
	Message string        // logged once, as an error, until a step succeeds
	Pause   time.Duration // between tries
}

// Loop is one run of Receive. One goroutine calls its methods; Offer may be
// called concurrently.
type Loop struct {
	config        Config
	pauses        backoff.Pauses
	conflict      bool // logged since the last success
	connected     bool
	everConnected bool
}

// NewLoop returns a loop that is not connected yet.
func NewLoop(c Config) Loop { return Loop{config: c, pauses: Pauses(c.Common)} }

// RetryUntilFatal repeats step until it succeeds, ctx ends, or the network
// refuses the account. Only the last is an error, an *channels.Error of kind
// Unauthorized. It calls step at least once, also after the end of ctx: what was
// accepted while ctx ended can still be noted.
func (l *Loop) RetryUntilFatal(ctx context.Context, step func(context.Context) error) error {
	for first := true; first || ctx.Err() == nil; first = false {
		err := step(ctx)
		var e *channels.Error
		switch {
		case err == nil:
			l.ResetBackoff()
			l.conflict = false
			return nil
		case ctx.Err() != nil: // which explains err
		case errors.As(err, &e) && e.Kind == channels.Unauthorized:
			return e
		default:
			l.MarkDisconnected()
			l.BackOff(ctx, err)
		}
	}
	return nil
}

// BackOff waits before the next try: as long as the network asks for, else longer
// after each failure. It returns early when ctx ends.
func (l *Loop) BackOff(ctx context.Context, err error) {
	c := l.config
	var e *channels.Error
	switch {
	case errors.As(err, &e) && e.Kind == channels.RateLimit:
		c.Log.Warn(c.Network+" asks to wait", "op", e.Op, "wait", e.RetryAfter)
		_ = pause.For(ctx, e.RetryAfter)
	case c.Conflict.Is != nil && c.Conflict.Is(err):
		if !l.conflict {
			c.Log.Error(c.Conflict.Message, "error", err)
		}
		l.conflict = true
		_ = pause.For(ctx, c.Conflict.Pause)
	default:
		if l.pauses.Failures() == 0 {
			c.Log.Warn(c.Peer+" is out of reach, trying again", "error", err)
		}
		l.pauses.Wait(ctx)
	}
}

// ResetBackoff makes the next pause the shortest again.
func (l *Loop) ResetBackoff() { l.pauses.Reset() }

// IsConnected reports which of MarkConnected and MarkDisconnected came last.
func (l *Loop) IsConnected() bool { return l.connected }

// MarkConnected tells the observer that the account is connected, and the log as
// whom. It does nothing while connected.
func (l *Loop) MarkConnected() {
	if l.connected {
		return
	}
	c := l.config
	c.Observer.SetConnected(c.Name, true)
	if l.everConnected {
		c.Observer.Reconnected(c.Name)
	}
	c.Log.Info("connected", append([]any{"network", c.Network}, c.Identity()...)...)
	l.connected, l.everConnected = true, true
}

// MarkDisconnected tells the observer that the account is not connected. It does
// nothing while not connected.
func (l *Loop) MarkDisconnected() {
	if l.connected {
		l.config.Observer.SetConnected(l.config.Name, false)
	}
	l.connected = false
}

// Offer calls accept, with a growing pause after each error, until it takes m. It
// returns false when ctx ends before.
func (l *Loop) Offer(ctx context.Context, m channels.Message, accept channels.Accept) bool {
	c := l.config
	for pauses := Pauses(c.Common); ctx.Err() == nil; pauses.Wait(ctx) {
		err := accept(ctx, m)
		if err == nil {
			l.ReportTaken(m)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		c.Log.Warn("event not stored, offering it again", "event", m.Event, "error", err)
	}
	return false
}

// ReportTaken tells the observer that m was taken. It may be called concurrently.
func (l *Loop) ReportTaken(m channels.Message) {
	l.config.Observer.Event(l.config.Name, m.ReceivedAt)
}
