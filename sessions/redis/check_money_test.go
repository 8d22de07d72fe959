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

// TestMoneyThatDoesNotAddUpIsFound changes one thing at a time behind the store's
// back.
func TestMoneyThatDoesNotAddUpIsFound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	labels := `{"provider":"maker","model":"model-1","channel":"tg","purpose":"root"}`
	for name, damage := range map[string]struct {
		want string
		do   func(p, session string) error
	}{
		"an own cost":       {"own cost", func(p, id string) error { return client.HSet(t.Context(), p+"sess:"+id, "own", "41").Err() }},
		"a subtree":         {"the subtree", func(p, id string) error { return client.HSet(t.Context(), p+"sess:"+id, "subtree", "0").Err() }},
		"what is held":      {"what is held", func(p, id string) error { return client.HIncrBy(t.Context(), p+"sess:"+id, "held", 1).Err() }},
		"calls of no price": {"without a price", func(p, id string) error { return client.HSet(t.Context(), p+"sess:"+id, "unpriced", 7).Err() }},
		"an entry is gone":  {"entry 1", func(p, _ string) error { return client.XDel(t.Context(), p+"ledger", "0-1").Err() }},
		"the order by cost": {"the place by cost", func(p, _ string) error { return client.Del(t.Context(), p+"dear").Err() }},
		"a total":           {"the total of maker/model-1", func(p, _ string) error { return client.HIncrBy(t.Context(), p+"total:amount", labels, -1).Err() }},
		"a total is gone":   {"is missing", func(p, _ string) error { return client.Del(t.Context(), p+"total:amount").Err() }},
		"a reservation":     {"what is held", func(p, _ string) error { return client.Del(t.Context(), p+"call:open/root/1/1").Err() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := strings.ReplaceAll(name, " ", "-") + ":"
			d := newDesk(t, openAt(t, redis.Options{URL: server.Unhurried(), Prefix: prefix}), "chat")
			d.turn("done")
			f, turn := d.open("open")
			d.ok(d.s.Reserve(t.Context(), f, sessions.Charge{Session: turn.Session, Turn: "open"}, call("open", 1, 70)))
			d.ok(d.s.Check(t.Context()))
			d.ok(damage.do(prefix, string(turn.Session)))
			err := d.s.Check(t.Context())
			if !errors.Is(err, sessions.ErrDamaged) || !strings.Contains(err.Error(), damage.want) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}
