package slack

import (
	"context"
	"strings"

	"parley/channels"
)

// maxQueued bounds the events that wait for accept. What comes beyond is not
// taken, and Slack brings it again.
const maxQueued = 4096

// offer completes one event and brings it to accept until it is taken. It returns
// false when ctx ends before.
func (r *receiver) offer(ctx context.Context, e event) bool {
	m := e.message
	taken := r.Offer(ctx, e.message, func(ctx context.Context, original channels.Message) error {
		m = original
		if e.complete != nil && r.o.IsRelevant(ctx, m) {
			e.complete(ctx, &m)
		}
		if err := r.accept(ctx, m); err != nil || e.whole == nil || !e.whole() {
			return err
		}
		return r.accept(ctx, completionOf(m))
	})
	if taken && e.after != nil {
		e.after(m)
	}
	return taken
}

// completionOf is m as what completes an event of the same post that came before it and
// lacked something.
func completionOf(m channels.Message) channels.Message {
	m.Event, m.Kind, m.Completing = "f-"+strings.TrimPrefix(m.Event, "m-"), channels.Edited, true
	return m
}
