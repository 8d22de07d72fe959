package redis_test

import (
	"os"
	"testing"

	"parley/sessions"
	"parley/sessions/redis/redistest"
	"parley/sessions/sessiontest"
)

// The whole suite. After each case the log is applied to an empty database,
// which must then remember all that was committed.
func TestTheStoreKeepsWhatSessionsPromise(t *testing.T) {
	t.Parallel()
	server := &shared{server: redistest.Start(t, redistest.Options{})}
	sessiontest.Run(t, func(t *testing.T) sessions.Store {
		t.Helper()
		log := &facts{}
		s, prefix := server.openWith(t, log)
		t.Cleanup(func() { rebuild(t, server, s, prefix, log) })
		return s
	})
	if os.Getenv("PARLEY_LONG") == "" {
		return
	}
	t.Run("without a log", func(t *testing.T) { // make test-long
		sessiontest.Run(t, func(t *testing.T) sessions.Store {
			t.Helper()
			return server.open(t)
		})
	})
}
