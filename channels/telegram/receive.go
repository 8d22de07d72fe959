package telegram

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"parley/channels"
	"parley/channels/internal/receive"
)

// allowed are the updates parley asks for. Telegram Bot API: when the list is
// absent the previous one stays in force, so it is always sent.
var allowed = [...]string{"message", "edited_message", "callback_query", "my_chat_member"}

// receiver is one run of Receive. One goroutine owns it; what a webhook's
// requests read of it stands before they come.
type receiver struct {
	*Channel
	receive.Loop
	accept  channels.Accept
	me      self
	presses chan press
}

// loop retries what Telegram refuses for the moment.
func (r *receiver) loop() receive.Loop {
	return receive.NewLoop(receive.Config{
		Common: r.o.Common, Network: Network, Peer: Network, Identity: r.identity,
		Conflict: receive.Conflict{
			Is: isConflict, Pause: r.o.ConflictPause,
			Message: "another program receives for this telegram account; only one may, stop the other",
		},
	})
}

func isConflict(err error) bool {
	var e *channels.Error
	return errors.As(err, &e) && e.Status == http.StatusConflict
}

// Receive polls, or with a webhook takes what Telegram brings, until ctx ends.
// See channels.Channel.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	end, err := c.Begin()
	if err != nil {
		return err
	}
	defer end()
	defer func() { _ = c.Close() }()
	c.drafts.forgetAll()
	defer c.drafts.forgetAll()
	r := &receiver{Channel: c, accept: accept, presses: make(chan press, 64)}
	r.Loop = r.loop()
	defer r.MarkDisconnected()

	inner, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { r.answerPresses(inner) })
	defer func() {
		stop()
		beside.Wait()
	}()

	if err := r.RetryUntilFatal(ctx, r.identify); err != nil {
		return err
	}
	r.warnPrivacyMode()
	beside.Go(func() { r.suggestCommands(inner) })
	if c.hook != nil {
		return r.takeRequests(ctx)
	}
	return r.runPolling(ctx)
}
