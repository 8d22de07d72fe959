package tracing

import (
	"context"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/sessionkeys"
)

// receipt is an event on its way through intake. One goroutine uses it.
type receipt struct {
	trace  traceID
	queued bool
}

type receiptKey struct{}

// Accept returns next with a span around each event that it queues. An event of which nothing is
// queued, because it is not for the bot or answered at once, leaves none.
func (t *Tracer) Accept(next channels.Accept) channels.Accept {
	return func(ctx context.Context, m channels.Message) error {
		began, r := t.o.Now(), &receipt{}
		err := next(context.WithValue(ctx, receiptKey{}, r), m)
		if !r.queued || !t.sampler.takes(r.trace) {
			return err
		}
		if at := m.ReceivedAt; !at.IsZero() && at.Before(began) {
			began = at
		}
		s := newSpan(r.trace, r.trace.root(), spanID{}, consumer, "receive "+m.Channel, began)
		set(s, text(attrChannel, m.Channel), text(attrChat, chatKind(m.Address)), text(attrEvent, string(m.Kind)))
		if err != nil { // the network brings it again, and it is known then
			fail(s, "_OTHER")
		}
		finish(s, t.o.Now())
		t.exporter.add(s)
		return err
	}
}

// queued begins the trace of a message that was queued: by the receipt that ctx carries, or by a
// span of its own for what no network brought, such as a run of a job.
func (t *Tracer) queued(ctx context.Context, by string, e broker.Envelope, seq uint64, began time.Time) {
	id, ok := traceOf(t.o.TurnID(e.Token, seq))
	if !ok {
		return
	}
	if r, ok := ctx.Value(receiptKey{}).(*receipt); ok {
		r.trace, r.queued = id, true
		return
	}
	if !t.sampler.takes(id) {
		return
	}
	s := newSpan(id, id.root(), spanID{}, producer, "queue message", began)
	set(s, text(attrOrigin, by))
	finish(s, t.o.Now())
	t.exporter.add(s)
}

func chatKind(a sessionkeys.Address) string {
	if a.Kind == sessionkeys.DM {
		return "dm"
	}
	return "group"
}
