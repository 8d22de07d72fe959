package delivery

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/signals"
	"parley/sessionkeys"
)

const (
	reactionsMost    = 1024 // messages that show that a turn works on them; of more the oldest are forgotten
	reactionTries    = 6
	reactionTimeout  = 5 * time.Second
	reactionFirstTry = time.Second // doubled by each further one
)

// reactions show on what people wrote how far turns of one bot account are with it. That
// goes beside the lanes, one call at a time: no answer waits for it. A reaction that finds
// no room is not shown; one that stands is taken away as soon as there is some, as long as
// this process lives.
type reactions struct {
	*account
	start func(f func(ctx context.Context)) bool // runs f beside the lanes; false: nothing is begun any more

	mu      sync.Mutex // guards what follows
	busy    bool
	entries []*reaction // oldest first
}

// reaction is what a message shows, and is to show.
type reaction struct {
	to      sessionkeys.Address
	message string
	askedAt time.Time
	want    channels.Stage
	shown   channels.Stage // as far as this process knows
	pending bool           // want is to be brought about
	tries   int
	due     time.Time
}

// reset forgets what an earlier run knew, but not what turns that run now have asked for
// meanwhile.
func (rs *reactions) reset() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.entries = slices.DeleteFunc(rs.entries, func(r *reaction) bool { return !r.pending || r.want != channels.Working })
	rs.busy = false
}

// queue takes what a turn's messages are to show, of which the newest counts.
func (rs *reactions) queue(s signals.Reaction) {
	if _, ok := rs.ch.(channels.Reactor); !ok {
		return
	}
	rs.mu.Lock()
	for _, id := range s.Messages {
		rs.request(s, id)
	}
	rs.mu.Unlock()
	rs.wakeUp()
}

// request notes what one message is to show. The caller holds mu.
func (rs *reactions) request(s signals.Reaction, id string) {
	i := slices.IndexFunc(rs.entries, func(r *reaction) bool { return r.message == id && r.to == s.To })
	if i < 0 {
		if s.Stage == channels.Idle && !s.Resumed { // it shows nothing
			return
		}
		if len(rs.entries) >= reactionsMost {
			rs.entries = rs.entries[1:]
		}
		i = len(rs.entries)
		rs.entries = append(rs.entries, &reaction{to: s.To, message: id})
	}
	r := rs.entries[i]
	if s.Resumed && r.shown == channels.Idle {
		r.shown = channels.Working // of another process, it may be
	}
	r.want, r.askedAt, r.pending, r.tries, r.due = s.Stage, s.AskedAt, true, 0, time.Time{}
}

// wakeUp begins to bring about what is due, if there is anything and no goroutine does.
func (rs *reactions) wakeUp() {
	rs.mu.Lock()
	begins := !rs.busy && rs.nextDue() != nil
	rs.busy = rs.busy || begins
	rs.mu.Unlock()
	if begins && !rs.start(rs.work) {
		rs.mu.Lock()
		rs.busy = false
		rs.mu.Unlock()
	}
}

// nextDue returns the oldest that is due, or nil. The caller holds mu.
func (rs *reactions) nextDue() *reaction {
	now := rs.Now()
	for _, r := range rs.entries {
		if r.pending && !r.due.After(now) {
			return r
		}
	}
	return nil
}

// work brings about what is due, one after another, until nothing is or ctx ends.
func (rs *reactions) work(ctx context.Context) {
	for {
		rs.mu.Lock()
		r := rs.nextDue()
		if r == nil || ctx.Err() != nil {
			rs.busy = false
			rs.mu.Unlock()
			return
		}
		r.pending = false
		want, has, asked := r.want, r.shown, r.askedAt
		rs.mu.Unlock()
		var err error
		if want != has || want == channels.Working { // of which another process knows better
			err = rs.apply(ctx, r, want, asked)
		}
		rs.mu.Lock()
		rs.recordResult(r, want, err)
		rs.mu.Unlock()
	}
}

// apply has the network show on a message what it is to show.
func (rs *reactions) apply(ctx context.Context, r *reaction, want channels.Stage, asked time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, reactionTimeout)
	defer cancel()
	at, err := rs.locate(ctx, r.to)
	if err != nil {
		return err
	}
	if at.chat.Closed || at.movedSince(asked) { // the id names nothing there
		return &channels.Error{Kind: channels.Gone, Op: "react", Message: "the message is out of reach"}
	}
	err = rs.ch.(channels.Reactor).React(ctx, at.to, r.message, want) // show has looked
	if err != nil {
		rs.Logger.Debug("reaction not shown", "channel", rs.name, "stage", want, "error", err)
	}
	return err // settle reads its kind
}

// recordResult notes what came of it. The caller holds mu.
func (rs *reactions) recordResult(r *reaction, want channels.Stage, err error) {
	ce, known := asChannelError(err)
	doubt := known && ce.Kind == channels.Ambiguous
	switch {
	case err == nil, doubt && want == channels.Working:
		r.shown = want
	case known && slices.Contains(final, ce.Kind):
		r.shown = channels.Idle
	case r.pending:
	case want == channels.Working && known && ce.Kind == channels.Unsent: // not connected, it may be
		rs.retryLater(r, ce)
	case want == channels.Working, want == channels.Done && r.shown == channels.Idle && !doubt: // it is not shown
	default:
		rs.retryLater(r, ce)
	}
	if !r.pending && (r.want != channels.Working || r.shown == channels.Idle) {
		rs.entries = slices.DeleteFunc(rs.entries, func(o *reaction) bool { return o == r })
	}
}

// retryLater has a reaction tried again that stands and is not to. The caller holds mu.
func (rs *reactions) retryLater(r *reaction, ce *channels.Error) {
	if r.tries++; r.tries >= reactionTries {
		return
	}
	wait := reactionFirstTry << (r.tries - 1)
	if ce != nil && ce.Kind == channels.RateLimit {
		wait = max(ce.RetryAfter, reactionFirstTry)
	}
	r.pending, r.due = true, rs.Now().Add(wait)
}
