package sessiontest

import (
	"testing"
	"time"
)

func health(t *testing.T, open opener) {
	cases{
		"a store that works takes a probe, and nothing is changed by it": func(h *fixture) {
			h.take(h.ann, "a", 5)
			before := h.mailbox("a")
			for range 2 {
				h.ok(h.s.Probe(h.ctx))
			}
			name, highest := must2(h.s.Generation(h.ctx))
			h.same("generation", name, "")
			h.same("highest", highest, uint64(5))
			h.same("mailbox", h.mailbox("a"), before)
		},
		"the store's clock goes on, near everybody's": func(h *fixture) {
			first := must(h.s.Clock(h.ctx))
			if d := time.Since(first); d < -time.Hour || d > time.Hour {
				h.t.Errorf("it is %v off", d)
			}
			for range 100 {
				next := must(h.s.Clock(h.ctx))
				if next.Before(first) {
					h.t.Fatalf("%v after %v", next, first)
				}
				first = next
			}
		},
	}.run(t, open)
}
