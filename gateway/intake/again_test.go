package intake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
)

func TestWhenNothingWasStoredTheNetworkIsNotToldSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fail, text string
		kind       channels.EventKind
	}{
		{"Publish", "hi", channels.Said},
		{"Publish", "/new", channels.Said},
		{"DeadLetter", "hi", channels.Unreadable},
		{"Last", "/stop", channels.Said},
		{"Request", "/stop", channels.Said},
		{"Notice", "/help", channels.Said},
		{"Known", "/help", channels.Said},
		{"Mailbox", "/status", channels.Said},
		{"Notice", strings.Repeat("x", messages.MaxText+1), channels.Said},
		{"Chat", "hi", channels.Said},
	} {
		w := world{fail: c.fail}
		in := w.intake(policy.Access{Everyone: true})
		m := dm(ann, c.text)
		m.Kind = c.kind
		if err := in.Accept(t.Context(), m); !errors.Is(err, errDown) {
			t.Errorf("%s fails for %.10q: %v", c.fail, c.text, err)
		}
		// The adapter offers it again.
		w.fail = ""
		if err := in.Accept(t.Context(), m); err != nil || w.trace()+len(w.dead) != 1 {
			t.Errorf("%.10q again: %v, %v", c.text, err, w.counts)
		}
	}
	w := world{fail: "Signal"}
	if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), dm(ann, "/stop")); err != nil {
		t.Errorf("a lost signal: %v", err)
	}
	if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), channels.Message{Kind: channels.Said, Channel: "nobody's"}); err == nil {
		t.Error("an event of a channel that is not configured was taken")
	}
}

func TestTheSameEventAgainIsCountedAndNotAnsweredAgain(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{Everyone: true})
	for _, text := range []string{"/stop", "/help"} {
		m := dm(ann, text)
		m.Event = text
		for range 3 {
			noError(t, in.Accept(t.Context(), m))
		}
	}
	if len(w.requests) != 1 || len(w.notices) != 1 || w.counts["deduplicated tg message_id"] != 4 {
		t.Errorf("%d requests, %d notices, %v", len(w.requests), len(w.notices), w.counts)
	}
	if d := cmp.Diff([]string{"control", "outbox"}, w.signals); d != "" {
		t.Error(d)
	}
	if c := w.requests[0]; c.Through != 7 || c.Sender != ann || c.ReplyTo != "" || c.Kind != "stop" {
		t.Errorf("the request is %+v", c)
	}
}
