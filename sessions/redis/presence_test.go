package redis

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"parley/sessions/redis/redistest"
)

// attending is a store whose process attends under its name, until the test ends or leave is
// called.
func attending(t *testing.T, server *redistest.Server, name string) (s *Store, leave func()) {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: server.Unhurried()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Attend(ctx, name); !errors.Is(err, context.Canceled) {
			t.Errorf("%s attended no longer: %v", name, err)
		}
	})
	leave = func() { cancel(); wg.Wait() }
	t.Cleanup(func() {
		leave()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, leave
}

// until waits until what ask says is so, and fails with any other error than that this process is
// not seen itself.
func until(t *testing.T, what string, ask func() (bool, error)) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		ok, err := ask()
		switch {
		case err != nil && !errors.Is(err, errUnseen):
			t.Fatal(err)
		case ok:
			return
		case time.Now().After(end):
			t.Fatalf("waited in vain until %s: %v", what, err)
		}
	}
}

func TestAProcessIsSeenForAsLongAsItIsConnected(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	ann, leave := attending(t, server, "worker.ann")
	bob, _ := attending(t, server, "worker.bob")
	seen := func(by *Store, name string) func() (bool, error) {
		return func() (bool, error) { return by.IsAttended(t.Context(), name) }
	}
	until(t, "bob sees ann", seen(bob, "worker.ann"))
	until(t, "ann sees bob", seen(ann, "worker.bob"))
	if there, err := bob.IsAttended(t.Context(), "worker.eve"); there || err != nil {
		t.Errorf("another is seen: %v, %v", there, err)
	}

	era := bob.Era()
	server.Do("CLIENT", "KILL", "TYPE", "pubsub")
	until(t, "another era begins", func() (bool, error) { return bob.Era() != era, nil })
	until(t, "bob sees ann again", seen(bob, "worker.ann"))

	elsewhere := "parley:here:of another server" // than the one that is asked
	me := bob.presence.me.Swap(&elsewhere)
	if there, err := bob.IsAttended(t.Context(), "worker.eve"); there || !errors.Is(err, errUnseen) {
		t.Errorf("where it is not seen itself it says %v, %v", there, err)
	}
	bob.presence.me.Store(me)

	leave()
	until(t, "bob misses ann", func() (bool, error) {
		there, err := bob.IsAttended(t.Context(), "worker.ann")
		return !there && err == nil, err
	})
}

// A user of the server who may use no channels: nobody is seen, and so nobody missed.
func TestWhoMayNotSubscribeMissesNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	server.Do("ACL", "SETUSER", "default", "resetchannels")
	ann, _ := attending(t, server, "worker.ann")
	for range 20 {
		if there, err := ann.IsAttended(t.Context(), "worker.bob"); there || !errors.Is(err, errUnseen) {
			t.Fatalf("it says %v, %v", there, err)
		}
	}
	server.Do("ACL", "SETUSER", "default", "allchannels")
	until(t, "it sees itself", func() (bool, error) { return ann.IsAttended(t.Context(), "worker.ann") })
}
