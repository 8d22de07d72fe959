package redis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/sessions"
	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

func TestServersThatWouldForgetAreRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"a node of a cluster":       {[]string{"--cluster-enabled", "yes"}, []string{"Redis Cluster", "one primary"}},
		"one that evicts":           {[]string{"--maxmemory-policy", "allkeys-lru"}, []string{"maxmemory-policy allkeys-lru", "set: maxmemory-policy noeviction"}},
		"one without a file":        {[]string{"--appendonly", "no"}, []string{"appendonly no", "set: appendonly yes"}},
		"one that does not sync it": {[]string{"--appendfsync", "no"}, []string{"appendfsync no", "everysec"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{Args: c.args, Password: "s3cret"})
			refused(t, redis.Options{URL: server.URL}, c.want...)
		})
	}
}

// refused opens a store, which must say all of want and no password.
func refused(t *testing.T, o redis.Options, want ...string) {
	t.Helper()
	s, err := redis.Open(t.Context(), o)
	if err == nil {
		_ = s.Close()
		t.Fatal("it was opened")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a password stands in %q", err)
	}
}

func TestAReplicaIsRefused(t *testing.T) {
	t.Parallel()
	replica := redistest.Start(t, redistest.Options{}).Replica(t)
	refused(t, redis.Options{URL: replica.URL}, "replica", "primary")
}

func TestTheNewestServersAreNotRefusedForWhatTheyDoNotShow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Args: []string{"--rename-command", "CONFIG", ""}})
	openAt(t, redis.Options{URL: server.URL})
}

func TestADatabaseOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	server := &shared{server: redistest.Start(t, redistest.Options{})}
	_, prefix := server.openWith(t, nil)
	if err := raw(t, server.server).HSet(t.Context(), prefix+"meta", "version", "99").Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, redis.Options{URL: server.server.URL, Prefix: prefix}, sessions.ErrDamaged.Error(), `version "99"`)
}

func TestAPasswordIsReadFromAFileAndNeverSaid(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{Password: "s3cret"})
	bare := "redis://" + server.Addr() + "/0"
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	openAt(t, redis.Options{URL: bare, PasswordFile: file(" s3cret\n")})
	openAt(t, redis.Options{URL: "redis://:other@" + server.Addr(), PasswordFile: file("s3cret")})
	refused(t, redis.Options{URL: bare}, "NOAUTH")
	refused(t, redis.Options{URL: bare, PasswordFile: file(" \n")}, "is empty")
	refused(t, redis.Options{URL: bare, PasswordFile: "/no/such/file"}, "password_file")
	refused(t, redis.Options{URL: "redis://:s3cret-not@" + server.Addr()}, "WRONGPASS")
	for _, u := range []string{
		"", "localhost:6379", "http://:s3cret@h", "redis://:s3cret@h:x/0", "redis://:s3cret@h/s3cret", "redis://u:s3cret@h/0?nonsense=s3cret",
		"redis://:s3cret\x7f@h", "redis://:s3cret@h?master_name=m&db=s3cret",
	} {
		refused(t, redis.Options{URL: u}, "url: ")
	}
	refused(t, redis.Options{URL: bare, Prefix: "a b"}, "prefix")
}
