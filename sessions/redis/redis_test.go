package redis_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is one server for all the stores of a test, each under a prefix of its
// own.
type shared struct {
	server *redistest.Server
	n      atomic.Int64
}

func (s *shared) open(t testing.TB) *redis.Store {
	t.Helper()
	store, _ := s.openWith(t, nil)
	return store
}

// openWith opens an empty store; it returns its prefix too.
func (s *shared) openWith(t testing.TB, log redis.Facts) (*redis.Store, string) {
	t.Helper()
	prefix := fmt.Sprintf("t%d:", s.n.Add(1))
	return openAt(t, redis.Options{URL: s.server.Unhurried(), Prefix: prefix, Facts: log}), prefix
}

// openAt opens a store that ends with the test.
func openAt(t testing.TB, o redis.Options) *redis.Store {
	t.Helper()
	s, err := redis.Open(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// raw is a client that knows nothing of stores.
func raw(t testing.TB, server *redistest.Server) *goredis.Client {
	t.Helper()
	o, err := goredis.ParseURL(server.Unhurried())
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
