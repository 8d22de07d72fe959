package redis_test

import (
	"strings"
	"testing"
	"time"

	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// An inspection says of a server what a store looks at, also of one that a store refuses, and writes
// nothing.
func TestInspect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args         []string
		aof          bool
		fsync, evict string
		unfit        string
	}{
		"one that a store takes": {nil, true, "everysec", "noeviction", ""},
		"one that evicts":        {[]string{"--maxmemory-policy", "allkeys-lru", "--appendfsync", "no"}, true, "no", "allkeys-lru", "forgets keys"},
		"one without a file":     {[]string{"--appendonly", "no"}, false, "everysec", "noeviction", "appendonly no"},
		"a node of a cluster":    {[]string{"--cluster-enabled", "yes"}, true, "everysec", "noeviction", "Redis Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{Args: c.args, Password: "s3cret"})
			i, err := redis.Inspect(t.Context(), redis.Options{URL: server.URL})
			if err != nil || i.AOF != c.aof || i.Fsync != c.fsync || i.Eviction != c.evict || !i.Password || i.Version == "" || time.Since(i.Clock).Abs() > time.Hour {
				t.Errorf("%+v, %v", i, err)
			}
			if !strings.Contains(i.Unfit, c.unfit) || (i.Unfit == "") != (c.unfit == "") {
				t.Errorf("unfit: %q", i.Unfit)
			}
			if i, err := redis.Inspect(t.Context(), redis.Options{URL: strings.Replace(server.URL, "s3cret", "wr0ng", 1)}); err == nil || strings.Contains(err.Error(), "wr0ng") {
				t.Errorf("with a wrong password: %+v, %v", i, err)
			}
		})
	}
}
