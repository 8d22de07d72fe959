package configs_test

import (
	"maps"
	"slices"
	"testing"

	"parley/configs"
	"parley/gateway"
	"parley/gateway/settings"
)

func TestTheExampleOfManyMachinesIsSound(t *testing.T) {
	t.Parallel()
	vars := maps.Clone(home)
	vars["PARLEY_REDIS"] = "rediss://redis.internal:6379/0"
	cfg, err := configs.Load("cluster.yaml", environ(vars))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Broker.Replicas != 3 || cfg.Store.Redis.URL.IsZero() || !slices.Equal(cfg.Roles, []string{settings.RoleGateway, settings.RoleWorker}) {
		t.Errorf("replicas %d, roles %q", cfg.Broker.Replicas, cfg.Roles)
	}
	for _, role := range []string{settings.RoleGateway, settings.RoleWorker} {
		cfg.Roles = []string{role}
		if _, err := gateway.New(cfg, gateway.Options{}); err != nil {
			t.Errorf("as %s alone: %v", role, err)
		}
	}
}
