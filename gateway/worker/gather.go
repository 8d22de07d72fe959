package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
)

// item is a message of the mailbox as the actor has read it.
type item struct {
	e   broker.Envelope
	msg channels.Message
	err error // it cannot be read
}

// command returns the queued command in it. An edit is none, and neither is what was
// not for the bot.
func (it item) command() (messages.Command, bool) {
	if it.err != nil || it.msg.Kind == channels.Edited || !messages.ForBot(it.msg) {
		return messages.Command{}, false
	}
	c, ok := messages.ParseCommand(it.msg.Text)
	return c, ok && c.Kind() == messages.Queued
}

// How far the actor looks ahead in its mailbox, and how long it waits for the
// rest of what is sent as one.
const (
	maxAhead      = 64
	maxAheadBytes = 512 << 10
	maxAlbum      = 10 // messages of which no network puts more into one
	maxPaste      = 16
	longestGather = 5 * time.Second
)

// head returns the first message of the mailbox, or broker.ErrNone.
func (a *queue) head(ctx context.Context) (item, error) {
	a.lookahead = slices.DeleteFunc(a.lookahead, func(it item) bool { return it.e.Seq <= a.m.LastRead })
	if len(a.lookahead) == 0 {
		found, err := a.readOneAhead(ctx)
		if err == nil && !found {
			err = broker.ErrNone
		}
		if err != nil {
			return item{}, err
		}
	}
	return a.lookahead[0], nil
}

// readOneAhead reads one more message of the mailbox; found is false when there is none.
func (a *queue) readOneAhead(ctx context.Context) (found bool, err error) {
	e, err := a.w.Log.NextAtLeast(ctx, a.token, a.readThrough(), a.m.LastSeen)
	if errors.Is(err, broker.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	msg, err := a.decode(e)
	a.lookahead = append(a.lookahead, item{e, msg, err})
	return true, nil
}

// readThrough returns how far the actor has read its mailbox.
func (a *queue) readThrough() uint64 {
	if n := len(a.lookahead); n > 0 {
		return a.lookahead[n-1].e.Seq
	}
	return a.m.LastRead
}

// isLookaheadFull reports whether the actor looks no further.
func (a *queue) isLookaheadFull() bool {
	bytes := 0
	for _, it := range a.lookahead {
		bytes += len(it.e.Body)
	}
	return len(a.lookahead) >= maxAhead || bytes >= maxAheadBytes
}

// errPoked means that the actor is to look for control requests.
var errPoked = errors.New("look for control requests")

// gather returns what becomes one turn with the head of the mailbox, or joins one
// with it. It waits, until errPoked, only when more may belong to the head:
// until nothing came for a moment, counted from when the last of it was
// received. Without patience it does not wait; then ripe says whether that would
// have been needed.
func (a *queue) gather(ctx context.Context, patient bool, poked <-chan struct{}) (b batch, ripe bool, err error) {
	head := a.lookahead[0].msg
	rules := a.settings.rules(head.Channel)
	_, maybe := messages.JoinWindow(head)
	alone := !maybe && head.Kind != channels.Edited && rules.Debounce <= 0
	for waited := false; ; {
		before := len(a.lookahead)
		if err := a.readAhead(ctx, alone && before == 1); err != nil {
			return batch{}, false, err
		}
		b = selectBatch(a.lookahead, nil, rules)
		d := b.joinDelay(a.w.Now())
		if d <= 0 || a.isLookaheadFull() || waited && len(a.lookahead) == before {
			return b, true, nil
		}
		if !patient {
			return b, false, nil
		}
		a.slot.Release() // others need not wait for what has not come
		waited, err = a.waitForMore(ctx, d, poked)
		if a.slot.Reacquire(ctx); err != nil {
			return batch{}, false, err
		}
		if ctx.Err() != nil {
			return batch{}, false, agent.ErrHandover
		}
	}
}

// readAhead reads what the mailbox holds. With alone it reads no further than
// what is known to be there.
func (a *queue) readAhead(ctx context.Context, alone bool) error {
	for !a.isLookaheadFull() {
		if alone && a.readThrough() >= a.m.LastSeen {
			return nil // nothing waits behind it, as far as is known
		}
		found, err := a.readOneAhead(ctx)
		if err != nil {
			return fmt.Errorf("look ahead in the mailbox: %w", err)
		}
		if !found {
			return nil
		}
	}
	return nil
}

// waitForMore waits for d, or less when there are more messages: then waited is false.
// It is ended by ctx, by the end of the process, and by poked.
func (a *queue) waitForMore(ctx context.Context, d time.Duration, poked <-chan struct{}) (waited bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true, nil
	case <-a.news:
		return false, nil
	case <-poked:
		return false, errPoked
	case <-ctx.Done():
		return false, agent.ErrHandover
	case <-a.w.closing:
		return false, agent.ErrHandover
	}
}
