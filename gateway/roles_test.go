package gateway_test

import (
	"strings"
	"testing"

	"parley/gateway"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
)

func TestRolesThatCannotWorkAreRefusedInWords(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	const nats, redis = "nats://127.0.0.1:4222", "redis://127.0.0.1:6379/0"
	for _, c := range []struct {
		name        string
		roles       []string
		nats, redis string
		want        []string // none: it is fine
	}{
		{"one process with everything inside", nil, "", "", nil},
		{"one process with Redis", nil, "", redis, nil},
		{"one process with a log elsewhere", nil, nats, "", nil},
		{"a worker", []string{"worker"}, nats, redis, nil},
		{"a gateway", []string{"gateway"}, nats, redis, nil},
		{"both, in words", []string{"worker", "gateway"}, "", "", nil},
		{"a worker with a log of its own", []string{"worker"}, "", redis, []string{"roles: a process that is only worker needs a gateway that reads the same message log"}},
		{"a worker with a database of its own", []string{"worker"}, nats, "", []string{"roles: a process that is only worker shares its conversations with a gateway, and SQLite is one process's own"}},
		{"a gateway with nothing shared", []string{"gateway"}, "", "", []string{"broker.url", "store.redis"}},
		{"a role that there is not", []string{"gateway", "worker", "boss"}, "", "", []string{`roles: "boss" is none of gateway, worker`}},
		{"a role twice", []string{"worker", "worker", "gateway"}, "", "", []string{"roles: worker is there twice"}},
		{"a Redis that is no address", nil, "", "http://x", []string{"store.redis.url:"}},
	} {
		cfg := env.Config()
		cfg.Roles, cfg.Broker.URL = c.roles, c.nats
		cfg.Store.Redis.URL = settings.NewSecret(c.redis)
		_, err := gateway.New(cfg, gateway.Options{})
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, and not %q", c.name, err, w)
			}
		}
	}
	cfg := env.Config()
	cfg.Store.Redis.Prefix = "x:"
	if _, err := gateway.New(cfg, gateway.Options{}); err == nil || !strings.Contains(err.Error(), "store.redis.url: required") {
		t.Errorf("Redis without an address: %v", err)
	}
	cfg = env.Config()
	cfg.Broker.Replicas = 3
	if _, err := gateway.New(cfg, gateway.Options{}); err == nil || !strings.Contains(err.Error(), "replicas: one server in this process keeps one copy") {
		t.Errorf("three copies in one process: %v", err)
	}
}
