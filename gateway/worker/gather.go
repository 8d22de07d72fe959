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

// command is the queued command in it. An edit is none, and neither is what was
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
	mostAhead      = 64
	mostAheadBytes = 512 << 10
	mostAlbum      = 10 // messages of which no network puts more into one
	mostPaste      = 16
	longestGather  = 5 * time.Second
)

// head is the first message of the mailbox, or broker.ErrNone.
func (a *queue) head(ctx context.Context) (item, error) {
	a.ahead = slices.DeleteFunc(a.ahead, func(it item) bool { return it.e.Seq <= a.m.Read })
	if len(a.ahead) == 0 {
		found, err := a.look(ctx)
		if err == nil && !found {
			err = broker.ErrNone
		}
		if err != nil {
			return item{}, err
		}
	}
	return a.ahead[0], nil
}

// look reads one more message of the mailbox; found is false when there is none.
func (a *queue) look(ctx context.Context) (found bool, err error) {
	e, err := a.w.Log.NextAtLeast(ctx, a.token, a.seen(), a.m.Touched)
	if errors.Is(err, broker.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	msg, err := a.read(e)
	a.ahead = append(a.ahead, item{e, msg, err})
	return true, nil
}

// seen is how far the actor has read its mailbox.
func (a *queue) seen() uint64 {
	if n := len(a.ahead); n > 0 {
		return a.ahead[n-1].e.Seq
	}
	return a.m.Read
}

// full says whether the actor looks no further.
func (a *queue) full() bool {
	bytes := 0
	for _, it := range a.ahead {
		bytes += len(it.e.Body)
	}
	return len(a.ahead) >= mostAhead || bytes >= mostAheadBytes
}

// errPoked says that somebody wants the actor to look for control requests.
var errPoked = errors.New("look for control requests")

// gather is what becomes one turn with the head of the mailbox, or joins one
// with it. It waits, until errPoked, only when more may belong to the head:
// until nothing came for a moment, counted from when the last of it was
// received. Without patience it does not wait; then ripe says whether that would
// have been needed.
func (a *queue) gather(ctx context.Context, patient bool, poked <-chan struct{}) (b batch, ripe bool, err error) {
	head := a.ahead[0].msg
	rules := a.w.rules(head.Channel)
	_, maybe := messages.MoreUntil(head)
	alone := !maybe && head.Kind != channels.Edited && rules.Debounce <= 0
	for waited := false; ; {
		before := len(a.ahead)
		if err := a.lookAhead(ctx, alone && before == 1); err != nil {
			return batch{}, false, err
		}
		b = pick(a.ahead, nil, rules)
		d := b.wait(a.w.Now())
		if d <= 0 || a.full() || waited && len(a.ahead) == before {
			return b, true, nil
		}
		if !patient {
			return b, false, nil
		}
		a.seat.Leave() // others need not wait for what has not come
		waited, err = a.idle(ctx, d, poked)
		if a.seat.Return(ctx); err != nil {
			return batch{}, false, err
		}
		if ctx.Err() != nil {
			return batch{}, false, agent.ErrHandover
		}
	}
}

// lookAhead reads what the mailbox holds. With alone it reads no further than
// what is known to be there.
func (a *queue) lookAhead(ctx context.Context, alone bool) error {
	for !a.full() {
		if alone && a.seen() >= a.m.Touched {
			return nil // nothing waits behind it, as far as is known
		}
		found, err := a.look(ctx)
		if err != nil {
			return fmt.Errorf("look ahead in the mailbox: %w", err)
		}
		if !found {
			return nil
		}
	}
	return nil
}

// idle waits for d, or less when there are more messages: then waited is false.
// It is ended by ctx, by the end of the process, and by poked.
func (a *queue) idle(ctx context.Context, d time.Duration, poked <-chan struct{}) (waited bool, err error) {
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
