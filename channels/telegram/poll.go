package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-telegram/bot"
)

const (
	batch = 100 // updates in one answer, the most Telegram gives

	// Telegram Bot API: after a week without updates the next id is random, so
	// an offset that is nearly so old is forgotten.
	forgetOffset = 6 * 24 * time.Hour
)

var errPollTimeout = errors.New("the poll was not answered in time")

// poller asks for updates, one batch after another.
type poller struct {
	*receiver
	offset int64     // of the next poll; 0: whatever is there
	last   time.Time // when an update last came
	limit  int       // updates to ask for
}

func (r *receiver) runPolling(ctx context.Context) error {
	if err := r.RetryUntilFatal(ctx, r.dropWebhook); err != nil {
		return err
	}
	p := &poller{receiver: r, limit: batch, last: r.o.Now()}
	for ctx.Err() == nil {
		if err := r.RetryUntilFatal(ctx, p.poll); err != nil {
			return err
		}
	}
	return nil
}

// dropWebhook: Telegram refuses polls while a webhook is set. What waits for it
// is kept.
func (r *receiver) dropWebhook(ctx context.Context) error {
	_, err := r.callLibrary(ctx, "deleteWebhook", func(ctx context.Context) error {
		_, err := r.bot.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
		return err
	})
	return err
}

// poll takes one batch and offers it, in order.
func (p *poller) poll(ctx context.Context) error {
	raws, err := p.fetch(ctx)
	if err != nil {
		return err
	}
	p.MarkConnected()
	last, taken := p.offerAll(ctx, raws)
	if !taken {
		return nil
	}
	p.ResetBackoff()
	switch {
	case last > 0:
		// Not the highest ever seen: after a quiet week ids start anywhere.
		p.offset = last + 1
	case len(raws) > 0:
		return errors.New("getUpdates: no update of the batch has an id")
	}
	return nil
}

func (p *poller) fetch(ctx context.Context) ([]json.RawMessage, error) {
	const method = "getUpdates"
	now := p.o.Now()
	if now.Sub(p.last) > forgetOffset {
		p.offset, p.last = 0, now
	}
	wait := p.o.PollTimeout
	if !p.IsConnected() {
		wait = 0 // to know at once whether the line works again
	}
	params := map[string]any{"limit": p.limit, "timeout": int(wait.Seconds()), "allowed_updates": allowed}
	if p.offset > 0 {
		params["offset"] = p.offset
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait+p.o.PollMargin, errPollTimeout)
	defer cancel()
	result, x, err := p.call(ctx, method, params)
	var raws []json.RawMessage
	if err == nil {
		err = json.Unmarshal(result, &raws)
	} else if !x.TooLarge && !isGarbled(x) {
		return nil, err
	}
	if err == nil {
		p.limit = batch
		if len(raws) > 0 {
			p.last = now
		}
		return raws, nil
	}
	// One update spoils the whole answer: take fewer, until it is alone.
	if p.limit > 1 {
		p.limit = max(1, p.limit/10)
		return p.fetch(ctx)
	}
	if raw, ok := only(x, p.offset); ok {
		return []json.RawMessage{raw}, nil
	}
	return nil, fmt.Errorf("%s: read the answer: %w", method, err)
}
