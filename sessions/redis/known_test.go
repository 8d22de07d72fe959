package redis_test

import (
	"testing"
	"time"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// TestWhoseFenceEndedYieldsNothingOfTheNextOwner: Yield decides on the mailbox as this
// process knows it, and then finds it again among those that another one left.
func TestWhoseFenceEndedYieldsNothingOfTheNextOwner(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	here, there := house{t, openAt(t, redis.Options{URL: server.URL})}, house{t, openAt(t, redis.Options{URL: server.URL})}
	anns := here.take(here.alive("ann"), "one", 1)
	later := noon.Add(2 * time.Hour)
	bob := sessions.Worker{Name: "bob", Nonce: "bob-1"}
	there.ok(there.s.Heartbeat(t.Context(), bob, later.Add(time.Minute)))
	ms, err := there.s.Recover(t.Context(), bob, later, 1)
	there.ok(err)
	if len(ms) != 1 {
		t.Fatalf("bob got %+v", ms)
	}
	_, err = here.s.Yield(t.Context(), anns.Fence(), later.Add(time.Hour)) // bob does not live by then
	here.is(err, sessions.ErrFenced)
	m, err := there.s.Mailbox(t.Context(), anns.Token)
	there.ok(err)
	if m.Fence() != ms[0].Fence() {
		t.Errorf("bob's mailbox is %+v", m)
	}
}
