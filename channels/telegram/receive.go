package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"parley/channels"
	"parley/channels/internal/backoff"
)

// allowed are the updates parley asks for. Telegram Bot API: when the list is
// absent the previous one stays in force, so it is always sent.
var allowed = [...]string{"message", "edited_message", "callback_query", "my_chat_member"}

var errReceiving = errors.New("telegram: Receive is running already")

// self is what getMe says of the account.
type self struct {
	ID        int64  `json:"id"`
	Username  string `json:"username"`
	HasTopics bool   `json:"has_topics_enabled"`
}

// receiver is one run of Receive. One goroutine owns it; what a webhook's
// requests read of it stands before they come.
type receiver struct {
	*Channel
	accept channels.Accept
	me     self

	pauses   backoff.Pauses
	conflict bool // the last failure was a rival
	up, was  bool // connected now, ever
	presses  chan string
}

// Receive polls, or with a webhook takes what Telegram brings, until ctx ends.
// See channels.Channel.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	if !c.receiving.CompareAndSwap(false, true) {
		return errReceiving
	}
	defer c.receiving.Store(false)
	defer func() { _ = c.Close() }()
	r := &receiver{Channel: c, accept: accept, pauses: c.o.pauses(), presses: make(chan string, 64)}
	defer r.lost()

	inner, stop := context.WithCancel(ctx)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		r.answerPresses(inner)
	}()
	defer func() {
		stop()
		<-answered
	}()

	if err := r.insist(ctx, r.identify); err != nil {
		return err
	}
	if c.hook != nil {
		return r.takeRequests(ctx)
	}
	return r.pollOn(ctx)
}

// insist repeats step until it succeeds, ctx ends, or the token turns out to
// be no good; only that last is an error.
func (r *receiver) insist(ctx context.Context, step func(context.Context) error) error {
	for ctx.Err() == nil {
		err := step(ctx)
		var e *channels.Error
		switch {
		case err == nil:
			r.pauses.Reset()
			r.conflict = false
			return nil
		case ctx.Err() != nil: // that is why
		case errors.As(err, &e) && e.Kind == channels.Unauthorized:
			return e
		default:
			r.lost()
			r.rest(ctx, err)
		}
	}
	return nil
}

// rest waits as long as err asks for.
func (r *receiver) rest(ctx context.Context, err error) {
	var e *channels.Error
	errors.As(err, &e)
	switch {
	case e != nil && e.Kind == channels.RateLimit:
		r.o.Log.Warn("telegram asks to wait", "op", e.Op, "wait", e.RetryAfter)
		backoff.Sleep(ctx, e.RetryAfter)
	case e != nil && e.Status == http.StatusConflict:
		if !r.conflict {
			r.o.Log.Error("another program receives for this telegram account; only one may, stop the other", "error", err)
		}
		r.conflict = true
		backoff.Sleep(ctx, r.o.ConflictPause)
	default:
		if r.pauses.Failed() == 0 {
			r.o.Log.Warn("telegram is out of reach, trying again", "error", err)
		}
		r.pauses.Wait(ctx)
	}
}

func (r *receiver) found() {
	if r.up {
		return
	}
	r.o.Observer.Up(r.o.Name, true)
	if r.was {
		r.o.Observer.Reconnected(r.o.Name)
		r.o.Log.Info("telegram is back")
	}
	r.up, r.was = true, true
}

func (r *receiver) lost() {
	if r.up {
		r.o.Observer.Up(r.o.Name, false)
	}
	r.up = false
}

func (r *receiver) short(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.SendTimeout, errSendTimeout)
	defer cancel()
	result, _, err := r.call(ctx, method, params)
	return result, err
}

func (r *receiver) identify(ctx context.Context) error {
	result, err := r.short(ctx, "getMe", nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(result, &r.me); err != nil || r.me.ID == 0 {
		return fmt.Errorf("getMe: the answer names no account: %w", err)
	}
	return nil
}
