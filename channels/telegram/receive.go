package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"parley/channels"
)

// allowed are the updates parley asks for. Telegram Bot API: when the list is
// absent the previous one stays in force, so it is always sent.
var allowed = [...]string{"message", "edited_message", "callback_query", "my_chat_member"}

const (
	batch = 100 // updates in one answer, the most Telegram gives

	// Telegram Bot API: after a week without updates the next id is random, so
	// an offset that is nearly so old is forgotten.
	forgetOffset = 6 * 24 * time.Hour
)

var (
	errPollTimeout = errors.New("the poll was not answered in time")
	errReceiving   = errors.New("telegram: Receive is running already")
)

// self is what getMe says of the account.
type self struct {
	ID        int64  `json:"id"`
	Username  string `json:"username"`
	HasTopics bool   `json:"has_topics_enabled"`
}

// receiver is one run of Receive. One goroutine owns it.
type receiver struct {
	*Channel
	accept channels.Accept
	me     self

	offset   int64     // of the next poll; 0: whatever is there
	last     time.Time // when an update last came
	limit    int       // updates to ask for
	failures int       // in a row
	conflict bool      // the last failure was a rival poll
	up, was  bool      // connected now, ever
	presses  chan string
}

// Receive polls until ctx ends. See channels.Channel.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	if !c.receiving.CompareAndSwap(false, true) {
		return errReceiving
	}
	defer c.receiving.Store(false)
	defer func() { _ = c.Close() }()
	r := &receiver{Channel: c, accept: accept, limit: batch, last: c.o.Now(), presses: make(chan string, 64)}
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

	for _, step := range []func(context.Context) error{r.identify, r.dropWebhook} {
		if err := r.insist(ctx, step); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		if err := r.insist(ctx, r.poll); err != nil {
			return err
		}
	}
	return nil
}

// insist repeats step until it succeeds, ctx ends, or the token turns out to
// be no good; only that last is an error.
func (r *receiver) insist(ctx context.Context, step func(context.Context) error) error {
	for ctx.Err() == nil {
		err := step(ctx)
		var e *channels.Error
		switch {
		case err == nil:
			r.failures, r.conflict = 0, false
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
		pause(ctx, e.RetryAfter)
	case e != nil && e.Status == http.StatusConflict:
		if !r.conflict {
			r.o.Log.Error("another program receives for this telegram account; only one may, stop the other", "error", err)
		}
		r.conflict = true
		pause(ctx, r.o.ConflictPause)
	default:
		if r.failures == 0 {
			r.o.Log.Warn("telegram is out of reach, trying again", "error", err)
		}
		pause(ctx, r.backoff())
	}
}

// backoff is the pause after one more failure in a row.
func (r *receiver) backoff() time.Duration {
	r.failures++
	return r.spread(r.failures - 1)
}

// spread is the pause after so many failures before: doubled by each, and
// spread between half and all of it.
func (r *receiver) spread(failures int) time.Duration {
	d := r.o.MinPause
	for range failures {
		if d >= r.o.MaxPause/2 {
			d = r.o.MaxPause
			break
		}
		d *= 2
	}
	return d/2 + time.Duration(r.o.Jitter()*float64(d/2))
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
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

// dropWebhook: Telegram refuses polls while a webhook is set. What waits for it
// is kept.
func (r *receiver) dropWebhook(ctx context.Context) error {
	_, err := r.short(ctx, "deleteWebhook", map[string]any{"drop_pending_updates": false})
	return err
}

// poll takes one batch and offers it, in order.
func (r *receiver) poll(ctx context.Context) error {
	raws, err := r.fetch(ctx)
	if err != nil {
		return err
	}
	r.found()
	last, taken := r.offerAll(ctx, raws)
	if !taken {
		return nil
	}
	r.failures = 0
	switch {
	case last > 0:
		// Not the highest ever seen: after a quiet week ids start anywhere.
		r.offset = last + 1
	case len(raws) > 0:
		return errors.New("getUpdates: no update of the batch has an id")
	}
	return nil
}

func (r *receiver) fetch(ctx context.Context) ([]json.RawMessage, error) {
	const method = "getUpdates"
	now := r.o.Now()
	if now.Sub(r.last) > forgetOffset {
		r.offset, r.last = 0, now
	}
	wait := r.o.PollTimeout
	if !r.up {
		wait = 0 // to know at once whether the line works again
	}
	params := map[string]any{"limit": r.limit, "timeout": int(wait.Seconds()), "allowed_updates": allowed}
	if r.offset > 0 {
		params["offset"] = r.offset
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait+r.o.PollMargin, errPollTimeout)
	defer cancel()
	result, x, err := r.call(ctx, method, params)
	var raws []json.RawMessage
	if err == nil {
		err = json.Unmarshal(result, &raws)
	} else if !x.tooLarge && !x.garbled() {
		return nil, err
	}
	if err == nil {
		r.limit = batch
		if len(raws) > 0 {
			r.last = now
		}
		return raws, nil
	}
	// One update spoils the whole answer: take fewer, until it is alone.
	if r.limit > 1 {
		r.limit = max(1, r.limit/10)
		return r.fetch(ctx)
	}
	if raw, ok := x.only(r.offset); ok {
		return []json.RawMessage{raw}, nil
	}
	return nil, fmt.Errorf("%s: read the answer: %w", method, err)
}

// event is an update of a batch, as offered.
type event struct {
	message channels.Message
	press   string // a button press to answer, once it was taken
}

// offerAll brings a batch to accept, each chat's updates in their order and the
// chats side by side, since each waits for a disk. It returns the last id when
// all were taken; false means that ctx ended before, and that nothing of the
// batch may be confirmed.
func (r *receiver) offerAll(ctx context.Context, raws []json.RawMessage) (last int64, taken bool) {
	byChat := map[string][]event{}
	for _, raw := range raws {
		id, known := peekID(raw)
		if known {
			last = max(last, id)
		}
		m, press := r.translate(raw, id, known)
		byChat[m.Address.Peer] = append(byChat[m.Address.Peer], event{m, press})
	}
	var offering sync.WaitGroup
	var left atomic.Bool
	for _, es := range byChat {
		offering.Go(func() {
			for _, e := range es {
				if !r.offer(ctx, e) {
					left.Store(true)
					return
				}
			}
		})
	}
	offering.Wait()
	return last, !left.Load()
}

// offer brings one update to accept until it is taken; false means that ctx
// ended before.
func (r *receiver) offer(ctx context.Context, e event) bool {
	m := e.message
	for failures := 0; ctx.Err() == nil; failures++ {
		err := r.accept(ctx, m)
		if err == nil {
			r.o.Observer.Event(r.o.Name, m.ReceivedAt)
			r.answerLater(e.press)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		r.o.Log.Warn("event not taken, offering it again", "event", m.Event, "error", err)
		pause(ctx, r.spread(failures))
	}
	return false
}

// answerLater has a button's spinner stopped. It is courtesy: when too many
// wait, the oldest ones are answered and this one fades by itself.
func (r *receiver) answerLater(press string) {
	if press == "" {
		return
	}
	select {
	case r.presses <- press:
	default:
		r.o.Log.Debug("button press left unanswered")
	}
}

func (r *receiver) answerPresses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.presses:
			if _, err := r.short(ctx, "answerCallbackQuery", map[string]any{"callback_query_id": id}); err != nil && ctx.Err() == nil {
				r.o.Log.Debug("button press not answered", "error", err)
			}
		}
	}
}
