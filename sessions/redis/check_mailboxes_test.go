package redis_test

import (
	"errors"
	"strings"
	"testing"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"

	goredis "github.com/redis/go-redis/v9"
)

// TestMailboxesAndAnswersThatDoNotFitAreFound changes one thing at a time behind the
// store's back.
func TestMailboxesAndAnswersThatDoNotFitAreFound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	c := raw(t, server)
	ctx := t.Context()
	for name, damage := range map[string]struct {
		want string
		do   func(p, token string, m sessions.Mailbox) error
	}{
		"one is gone":      {"not there", func(p, token string, _ sessions.Mailbox) error { return c.Del(ctx, p+"box:"+token).Err() }},
		"its turn is gone": {"whose open turn is none", func(p, _ string, _ sessions.Mailbox) error { return c.Del(ctx, p+"turn:open").Err() }},
		"its turn is done": {"whose open turn is none", func(p, _ string, _ sessions.Mailbox) error {
			return c.HSet(ctx, p+"turn:open", "state", string(sessions.Done)).Err()
		}},
		"its controls": {"miscounted", func(p, token string, _ sessions.Mailbox) error {
			return c.ZAdd(ctx, p+"controls:"+token, goredis.Z{Member: "c"}).Err()
		}},
		"it read too much": {"never saw", func(p, token string, _ sessions.Mailbox) error { return c.HSet(ctx, p+"box:"+token, "read", 9).Err() }},
		"it is not its owner's": {"Recover and Held", func(p, token string, _ sessions.Mailbox) error {
			return c.ZRem(ctx, p+"owned:3:ann5:ann-1", token).Err()
		}},
		"it is free too": {"Recover and Held", func(p, token string, _ sessions.Mailbox) error {
			return c.ZAdd(ctx, p+"free", goredis.Z{Member: token}).Err()
		}},
		"it waits since another time": {"Recover and Held", func(p, token string, _ sessions.Mailbox) error {
			return c.ZAdd(ctx, p+"running", goredis.Z{Member: token, Score: 7}).Err()
		}},
		"an answer is pending nowhere": {"answers that are pending", func(p, _ string, _ sessions.Mailbox) error {
			return c.Del(ctx, p+"pending:tg").Err()
		}},
		"an answer is gone": {"answers that are pending", func(p, _ string, _ sessions.Mailbox) error { return c.Del(ctx, p+"out:waits").Err() }},
		"a message is gone": {"history is cut", func(p, _ string, m sessions.Mailbox) error {
			return c.LPop(ctx, p+"msgs:"+string(m.Session)).Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := strings.ReplaceAll(name, " ", "-") + ":"
			d := newDesk(t, openAt(t, redis.Options{URL: server.Unhurried(), Prefix: prefix}), "chat")
			d.open("open")
			m, err := d.s.Mailbox(ctx, d.key.Token())
			d.ok(err)
			_, err = d.s.Notice(ctx, event("waits"), []sessions.Outgoing{{ID: "waits", Channel: "tg", Session: m.Session, To: d.key.Address(), Text: "wait", At: noon}}, noon)
			d.ok(err)
			d.ok(d.s.Check(ctx))
			d.ok(damage.do(prefix, m.Token, m))
			err = d.s.Check(ctx)
			if !errors.Is(err, sessions.ErrDamaged) || !strings.Contains(err.Error(), damage.want) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}
