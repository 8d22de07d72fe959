package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/channels"
	"parley/channels/internal/receive"
	"parley/pause"
)

// self is what auth.test says of the bot. slack-go leaves out whether the app is
// installed in a whole organisation.
type self struct {
	TeamID       string `json:"team_id"`
	EnterpriseID string `json:"enterprise_id"`
	OrgInstall   bool   `json:"is_enterprise_install"`
	UserID       string `json:"user_id"`
	BotID        string `json:"bot_id"`
	User         string `json:"user"` // its name
	Team         string `json:"team"` // the workspace's name, or the organisation's
}

// account returns the bot's own stable id: ids of users are unique only within a
// workspace, or within an organisation.
func (s *self) account() string {
	if s.OrgInstall && s.EnterpriseID != "" {
		return s.EnterpriseID + "/" + s.UserID
	}
	return s.TeamID + "/" + s.UserID
}

// identity returns who the bot is, for the log.
func (r *receiver) identity() []any {
	return []any{"as", "@" + r.me.User, "user", r.me.UserID, "workspace", r.me.Team, "account", r.me.account()}
}

// receiver is one run of Receive. One goroutine owns it; what the queue and a
// webhook's requests read of it stands before they come.
type receiver struct {
	*Channel
	receive.Loop
	textReader
	viewpoint

	accept channels.Accept
	me     *self // that of the two above
	queue  *receive.Queue[event]
}

// Receive takes what Slack brings until ctx ends. See channels.Channel.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	end, err := c.Begin()
	if err != nil {
		return err
	}
	defer end()
	defer func() { _ = c.Close() }()
	r := &receiver{Channel: c, accept: accept}
	r.Loop = receive.NewLoop(receive.Config{
		Common: c.o.Common, Network: Network, Peer: Network, Identity: r.identity,
	})
	defer r.MarkDisconnected()
	if err := r.RetryUntilFatal(ctx, r.identify); err != nil || ctx.Err() != nil {
		return err
	}
	r.queue = receive.NewQueue(ctx, maxQueued, r.offer)
	defer r.queue.Wait()
	defer r.runEndSessions(ctx)()
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
		return withTokenHint(err, "bot_token")
	}
	var me self
	if err := json.Unmarshal(result, &me); err != nil || me.UserID == "" || me.TeamID == "" && me.EnterpriseID == "" {
		return fmt.Errorf("%s: the answer names no bot: %w", method, err)
	}
	r.me, r.textReader, r.viewpoint = &me, textReader{&me, &r.people, r.o.Commands}, viewpoint{&me, r.o.View}
	r.Channel.me.Store(&me)
	return nil
}

// withTokenHint reports which token a refused call used.
func withTokenHint(err error, which string) error {
	var e *channels.Error
	if errors.As(err, &e) && e.Kind == channels.Unauthorized {
		e.Message = which + " is no good: " + e.Message
	}
	return err
}

// takeRequests lets Slack bring events until ctx ends. What comes while no
// process runs Slack brings again, three times within about six minutes.
func (r *receiver) takeRequests(ctx context.Context) error {
	r.hook.gate.Open(ctx, r)
	defer r.hook.gate.Close()
	r.MarkConnected()
	r.o.Log.Info("slack delivers events to the webhook", "path", r.hook.path)
	for pause.For(ctx, r.o.CheckEvery) == nil {
		if n := r.hook.strangers.Swap(0); n > 0 {
			r.o.Log.Warn("webhook requests without slack's signature refused", "requests", n)
		}
		// Another answer than the first would change nothing here: r.me stays.
		err := r.RetryUntilFatal(ctx, func(ctx context.Context) error {
			_, err := r.call(ctx, "auth.test", "", func(ctx context.Context) error {
				_, err := r.api.AuthTestContext(ctx)
				return err
			})
			return withTokenHint(err, "bot_token")
		})
		if err != nil {
			return err
		}
		if ctx.Err() == nil {
			r.MarkConnected()
		}
	}
	return nil
}
