package tracing

import (
	"time"

	"parley/sessions"
)

// Delivered makes the span of an attempt at a delivery that has ended as outcome says; failed is
// why it is no success, in one word, and "" if it is one. What belongs to no turn leaves none.
func (t *Tracer) Delivered(d sessions.Delivery, began time.Time, outcome, failed string) {
	id, ok := traceOfDelivery(d.ID, d.Turn)
	if !ok || !t.sampler.takes(id) {
		return
	}
	s := newSpan(id, newSpanID(), id.root(), client, "send "+d.Channel, began)
	set(s, text(attrChannel, d.Channel), text(attrChat, chatKind(d.To)), text(attrOutcome, outcome), number(attrParts, int64(len(d.Parts))))
	if failed != "" {
		fail(s, failed)
	}
	finish(s, t.o.Now())
	t.exporter.add(s)
}
