package mcp

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"parley/tools/mcp/oauth"
)

// A server at which nobody is logged in is asked again when somebody is, in this process or in
// another with the same folder, and now and then without.
func TestAwaitLogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(s *server)
		within    time.Duration
		then      State
	}{
		"here":       {func(s *server) { s.retry.Send() }, 0, Starting},
		"elsewhere":  {func(s *server) { writeLogin(t, s) }, loginLook, Starting},
		"not at all": {func(*server) {}, loginRetry, NeedsLogin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "logins")
			synctest.Test(t, func(t *testing.T) {
				o := &Options{Logins: dir, Changed: func() {}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
				s, err := newServer(Server{Name: "test", URL: "https://mcp.example.org"}, o)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ended := make(chan time.Duration)
				go func() {
					s.awaitLogin(t.Context(), &oauth.LoginError{Server: "test"})
					ended <- time.Since(began)
				}()
				synctest.Wait()
				if st := s.status(); st.State != NeedsLogin || st.Problem != "nobody has logged in at it: parley mcp login test" {
					t.Errorf("meanwhile it is %+v", st)
				}
				c.meanwhile(s)
				if d := <-ended; d != c.within || s.status().State != c.then {
					t.Errorf("asked again after %s as %s, want %s as %s", d, s.status().State, c.within, c.then)
				}
			})
		})
	}
}

// writeLogin writes a login as another process does.
func writeLogin(t *testing.T, s *server) {
	t.Helper()
	if err := os.MkdirAll(s.o.Logins, 0o700); err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"server": "https://mcp.example.org", "issuer": "https://auth.example.org", "access_token": "a-token"}`)
	if err := os.WriteFile(filepath.Join(s.o.Logins, "test.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
