package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/channels"
	"parley/channels/internal/backoff"
)

var errReceiving = errors.New("slack: Receive is running already")

// self is what auth.test says of the bot. slack-go leaves out whether the app is
// installed in a whole organisation.
type self struct {
	TeamID       string `json:"team_id"`
	EnterpriseID string `json:"enterprise_id"`
	OrgInstall   bool   `json:"is_enterprise_install"`
	UserID       string `json:"user_id"`
	BotID        string `json:"bot_id"`
	User         string `json:"user"` // its name
}

// account is the bot's own stable id: ids of users are unique only within a
// workspace, or within an organisation.
func (s *self) account() string {
	if s.OrgInstall && s.EnterpriseID != "" {
		return s.EnterpriseID + "/" + s.UserID
	}
	return s.TeamID + "/" + s.UserID
}

// receiver is one run of Receive. One goroutine owns it; what the queue and a
// webhook's requests read of it stands before they come.
type receiver struct {
	*Channel
	accept channels.Accept
	me     *self
	queue  queue

	pauses  backoff.Pauses
	up, was bool // connected now, ever
}

// Receive takes what Slack brings until ctx ends. See channels.Channel.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	if !c.receiving.CompareAndSwap(false, true) {
		return errReceiving
	}
	defer c.receiving.Store(false)
	defer func() { _ = c.Close() }()
	r := &receiver{Channel: c, accept: accept, pauses: c.o.pauses()}
	defer r.lost()
	if err := r.insist(ctx, r.identify); err != nil || ctx.Err() != nil {
		return err
	}
	r.queue.ctx, r.queue.take = ctx, r.offer
	defer r.queue.wait()
	if c.hook != nil {
		return r.takeRequests(ctx)
	}
	return r.takeEnvelopes(ctx)
}

// identify asks who the bot is.
func (r *receiver) identify(ctx context.Context) error {
	const method = "auth.test"
	result, err := r.call(ctx, method, "", func(ctx context.Context) error {
		_, err := r.api.AuthTestContext(ctx)
		return err
	})
	if err != nil {
		return withHint(err, "bot_token")
	}
	var me self
	if err := json.Unmarshal(result, &me); err != nil || me.UserID == "" || me.TeamID == "" && me.EnterpriseID == "" {
		return fmt.Errorf("%s: the answer names no bot: %w", method, err)
	}
	r.me = &me
	r.Channel.me.Store(&me)
	return nil
}

// withHint says which token a refused call used.
func withHint(err error, which string) error {
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.Unauthorized {
		e.Message = which + " is no good: " + e.Message
	}
	return err
}

// takeRequests lets Slack bring events until ctx ends. What comes while no
// process runs Slack brings again, three times within about six minutes.
func (r *receiver) takeRequests(ctx context.Context) error {
	r.hook.open(ctx, r)
	defer r.hook.shut()
	r.found()
	r.o.Log.Info("slack brings events to the webhook", "path", r.hook.path)
	for {
		backoff.Sleep(ctx, r.o.CheckEvery)
		if ctx.Err() != nil {
			return nil
		}
		if n := r.hook.strangers.Swap(0); n > 0 {
			r.o.Log.Warn("requests to the webhook were not signed by slack and were refused", "requests", n)
		}
		// Another answer than the first would change nothing here: r.me stays.
		err := r.insist(ctx, func(ctx context.Context) error {
			_, err := r.call(ctx, "auth.test", "", func(ctx context.Context) error {
				_, err := r.api.AuthTestContext(ctx)
				return err
			})
			return withHint(err, "bot_token")
		})
		if err != nil {
			return err
		}
		if ctx.Err() == nil {
			r.found()
		}
	}
}

// insist repeats step until it succeeds, ctx ends, or a token turns out to be no
// good; only that last is an error.
func (r *receiver) insist(ctx context.Context, step func(context.Context) error) error {
	for ctx.Err() == nil {
		err := step(ctx)
		var e *channels.Error
		switch {
		case err == nil:
			r.pauses.Reset()
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
	if errors.As(err, &e) && e.Kind == channels.RateLimit {
		r.o.Log.Warn("slack asks to wait", "op", e.Op, "wait", e.RetryAfter)
		backoff.Sleep(ctx, e.RetryAfter)
		return
	}
	if r.pauses.Failed() == 0 {
		r.o.Log.Warn("slack is out of reach, trying again", "error", err)
	}
	r.pauses.Wait(ctx)
}

func (r *receiver) found() {
	if r.up {
		return
	}
	r.o.Observer.Up(r.o.Name, true)
	if r.was {
		r.o.Observer.Reconnected(r.o.Name)
		r.o.Log.Info("slack is back")
	}
	r.up, r.was = true, true
}

func (r *receiver) lost() {
	if r.up {
		r.o.Observer.Up(r.o.Name, false)
	}
	r.up = false
}
