package telegram

import (
	"errors"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
)

// A call counts against the bot's own limit from its start until a second after its
// end, because it may reach Telegram at any moment between.
func TestRateLimiter_CallUnderWayCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	a := newRateLimiter(&receive.Waits{Now: clock}, clock, 1)
	chat := int64(0)
	begin := func() (callTarget, *entry, error) {
		chat++
		s := callTarget{chat: chat}
		e, err := a.reserve("sendMessage", s, final)
		return s, e, err
	}
	refused := func(when string) {
		t.Helper()
		_, _, err := begin()
		if e, ok := errors.AsType[*channels.Error](err); !ok || e.Kind != channels.RateLimit || e.RetryAfter <= 0 {
			t.Errorf("%s: %v, want the answer to wait", when, err)
		}
	}
	first, e, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	for range callsPerSecond[final] - 1 {
		if _, _, err := begin(); err != nil {
			t.Fatal(err)
		}
	}
	refused("at once")
	now = now.Add(10 * time.Second)
	refused("while all are under way for 10 s")
	a.finish(first, e, true)
	refused("when one has just ended")
	now = now.Add(perSecond)
	if _, _, err := begin(); err != nil {
		t.Errorf("a second after one has ended: %v", err)
	}
	refused("when another has taken its place")
}
