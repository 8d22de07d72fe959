package channeltest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channels"
)

// wantRateLimit announces that err is a rate limit of at most d, and of exactly d if it
// is the network that says so.
func wantRateLimit(t *testing.T, err error, d time.Duration, exactly bool) {
	t.Helper()
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.RateLimit || e.RetryAfter > d || e.RetryAfter <= 0 || exactly && e.RetryAfter != d {
		t.Errorf("within a penalty of %s came %v", d, err)
	}
}

// retryAfterPenalty repeats a call that falls into a penalty of the network: within it no call
// is made, and after it the call succeeds.
func retryAfterPenalty(t *testing.T, rig Harness, d time.Duration, call func() error) {
	t.Helper()
	wantRateLimit(t, call(), d, true)
	before := rig.Attempts()
	for range 3 {
		wantRateLimit(t, call(), d, false)
	}
	if n := rig.Attempts() - before; n != 0 {
		t.Errorf("%d calls were made within the penalty", n)
	}
	rig.Advance(d)
	if err := call(); err != nil {
		t.Errorf("after the penalty: %v", err)
	}
}

// testPenalty: an answer of several messages, in the middle of which the network wants to
// hear nothing for a while, arrives whole, once, and in its order.
func testPenalty(t *testing.T, rig Harness, _ Features) {
	ch, m := startChat(t, rig)
	bodies := ch.Render(strings.Repeat("A sentence of some words. ", 2000))
	if len(bodies) < 3 {
		t.Fatalf("%d messages", len(bodies))
	}
	var want []string
	for i, b := range bodies {
		want = append(want, b.Text)
		send := func() error {
			_, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: b})
			return err
		}
		if i == 1 {
			const d = 7 * time.Second
			rig.LimitNext(t, d)
			retryAfterPenalty(t, rig, d, send)
		} else if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if got := rig.Sent(); !slices.Equal(got, want) {
		t.Errorf("sent %d messages of %d, or not these", len(got), len(want))
	}
}

// testRememberedPenalty: the next process makes no call within the penalty that the one
// before was told of.
func testRememberedPenalty(t *testing.T, rig Harness, _ Features) {
	ch, m := startChat(t, rig)
	first, ok := ch.(channels.WaitRestorer)
	if !ok {
		t.Fatal("the channel does not remember")
	}
	var mu sync.Mutex
	var kept []channels.Wait
	keep := func(w channels.Wait) {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, w)
	}
	first.RestoreWaits(nil, keep)
	const d = 7 * time.Second
	rig.LimitNext(t, d)
	send := func(ch channels.Channel) error {
		_, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "hi"}})
		return err
	}
	wantRateLimit(t, send(ch), d, true)
	next := rig.Open(t)
	next.(channels.WaitRestorer).RestoreWaits(kept, keep) // as the first
	before := rig.Attempts()
	for range 3 {
		wantRateLimit(t, send(next), d, false)
	}
	if n := rig.Attempts() - before; n != 0 {
		t.Errorf("%d calls were made within the penalty", n)
	}
	rig.Advance(d)
	if err := send(next); err != nil {
		t.Errorf("after the penalty: %v", err)
	}
}

// testEditPenalty: so does an answer that grows, whose last edit falls into a penalty.
func testEditPenalty(t *testing.T, rig Harness) {
	ch, m := startChat(t, rig)
	e, ok := ch.(channels.Editor)
	if !ok {
		t.Fatal("the channel cannot edit")
	}
	receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, Body: channels.Body{Text: "the begin"}})
	if err != nil {
		t.Fatal(err)
	}
	const d = 7 * time.Second
	rig.LimitNextEdit(t, d)
	retryAfterPenalty(t, rig, d, func() error {
		return e.Edit(t.Context(), m.Address, receipt.MessageID, channels.Body{Text: "the beginning and the end"})
	})
	if sent := rig.Sent(); !slices.Equal(sent, []string{"the beginning and the end"}) {
		t.Errorf("sent %q", sent)
	}
}
