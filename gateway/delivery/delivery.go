// Package delivery brings answers back: it renders and splits them for their
// network, shows running turns, waits out rate limits, and sends each part
// once.
//
// What is to be sent stands in the outbox, in parts, before the first is sent.
// A part is marked sending before its bytes leave and sent when the network
// gave its id. One found in sending by a process that did not mark it may have
// arrived: it is sent again, marked as a possible repeat, and counted.
//
//	lanes    ─ one per bot account: scans the outbox when signalled, or by itself,
//	           and does in each chat one thing after another
//	attempt  ─ one per delivery that a lane takes up: moves its parts from state to
//	           state, in the store first
//	handoff  ─ one per answer that the end of its turn gives to an idle lane, with the
//	           first part already marked
//	previews ─ one per bot account: shows turns that run
//	reactions ─ one per bot account: shows on messages that a turn works on them
package delivery

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/broker"
	"parley/channels"
	"parley/gateway/redaction"
	"parley/gateway/signals"
	"parley/sessions"
)

// Store is where answers wait, and where their questions are looked up.
type Store interface {
	sessions.Outbox
	sessions.Chats
	Turn(ctx context.Context, id string) (sessions.Turn, error)
}

// Log carries signals from workers, and requests to them.
type Log interface {
	Signal(ctx context.Context, s broker.Signal) error
	Signals(ctx context.Context, topic string, h func(broker.Signal)) error
}

// Observer counts. Calls must not block.
type Observer interface {
	CountSent(channel, outcome string, took time.Duration) // ok, rejected, ambiguous or dropped
	SendRetried(channel, reason string)
	FirstReply(channel string, dm bool, took time.Duration)
}

// Options is what delivery is made of.
type Options struct {
	Store    Store
	Log      Log
	Channels []channels.Channel
	Files    Files // nil: no file can be sent
	Observer Observer
	Logger   *slog.Logger
	Now      func() time.Time
	Redactor *redaction.Redactor // takes secrets out of what people are shown; nil: nothing is
	// Wait sleeps for d or until ctx ends, and then returns its error.
	Wait func(ctx context.Context, d time.Duration) error
	// Delivered, if set, is called when a delivery is finished, whatever became
	// of its parts; not for what is dropped with others because its chat was
	// closed. It must not block.
	Delivered func(d sessions.Delivery)
	// Attempted, if set, is called when an attempt at a delivery has ended, which began at a time.
	// It must not block.
	Attempted func(d sessions.Delivery, began time.Time, how Outcome)
	// Grace is how long Run goes on sending what is queued after its context
	// ended. Default 5s.
	Grace time.Duration
}

// Delivery sends answers. Make one with New, run it once.
type Delivery struct {
	Options
	lanes map[string]*lanes // by channel
}

// New checks and wires; it starts nothing.
func New(o Options) *Delivery {
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	d := &Delivery{Options: o, lanes: map[string]*lanes{}}
	me := rand.Text()
	for _, c := range o.Channels {
		d.lanes[c.Name()] = newLanes(&account{Options: &d.Options, me: me, ch: c, name: c.Name(), places: make(chan struct{}, maxSends)})
	}
	return d
}

// Run calls Listen, and Send for every channel. It returns nil when ctx has ended.
func (d *Delivery) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for name, l := range d.lanes {
		l.begin(ctx) // before a signal comes, so that none falls on an account that is not there
		g.Go(func() error { return d.Send(gctx, name) })
	}
	g.Go(func() error { return d.Listen(gctx) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Listen hears of new answers and of running turns, for the channels that Send
// sends for, and returns ctx's error when it has ended.
func (d *Delivery) Listen(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return d.Log.Signals(gctx, signals.OutboxTopic, func(s broker.Signal) {
			var o signals.Outbox
			if d.decode(s, &o) {
				if l := d.lanes[o.Channel]; l != nil {
					l.wake.Send()
				}
			}
		})
	})
	g.Go(func() error {
		return d.Log.Signals(gctx, signals.PreviewTopic, func(s broker.Signal) {
			var p signals.Preview
			if d.decode(s, &p) {
				if l := d.lanes[p.Channel]; l != nil {
					l.queuePreview(p)
				}
			}
		})
	})
	g.Go(func() error {
		return d.Log.Signals(gctx, signals.ReactionTopic, func(s broker.Signal) {
			var r signals.Reaction
			if d.decode(s, &r) {
				if l := d.lanes[r.Channel]; l != nil {
					l.reactions.queue(r)
				}
			}
		})
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("delivery: %w", err)
	}
	return nil
}

// Send sends what waits for one channel, until ctx ends; then what is queued for
// at most Grace longer, and returns nil. When ctx ends because the right to send
// was lost (its cause is broker.ErrLeaseLost) nothing more is begun. A send that
// is under way is always waited for. Send may be called again after it returned,
// not at the same time for the same channel.
func (d *Delivery) Send(ctx context.Context, channel string) error {
	l := d.lanes[channel]
	if l == nil {
		return fmt.Errorf("delivery: there is no channel %q", channel)
	}
	l.run(ctx)
	return nil
}

func (d *Delivery) decode(s broker.Signal, into any) bool {
	if err := json.Unmarshal(s.Body, into); err != nil {
		d.Logger.Warn("unreadable signal dropped", "topic", s.Topic, "error", err)
		return false
	}
	return true
}
