package redis_test

import (
	"errors"
	"strings"
	"testing"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// A history that lacks a message is damaged, never a shorter one, however it is read.
func TestMessagesMissing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	d := newDesk(t, openAt(t, redis.Options{URL: server.URL, Prefix: "p:"}), "chat")
	_, turn := d.open("open")
	ctx := t.Context()
	if ms, err := d.s.MessagesAfter(ctx, turn.Session, 0, 9); err != nil || len(ms) != 1 {
		t.Fatalf("%d messages, %v", len(ms), err)
	}
	d.ok(raw(t, server).RPop(ctx, "p:msgs:"+string(turn.Session)).Err())
	_, whole := d.s.Messages(ctx, turn.Session)
	_, piece := d.s.MessagesAfter(ctx, turn.Session, 0, 9)
	for _, err := range []error{whole, piece} {
		if !errors.Is(err, sessions.ErrDamaged) || !strings.Contains(err.Error(), "0 of ") {
			t.Errorf("read with %v", err)
		}
	}
}
