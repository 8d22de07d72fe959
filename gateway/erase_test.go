package gateway_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/transcript"
)

// A backup copies the database beside itself first. What is deleted later is not to stay in the copy of one that
// was killed.
func TestTheCopyOfABackupThatWasKilledGoesWithTheNextStart(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	left := filepath.Join(env.Config().StateDir, "parley.db.copy")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, []byte("a secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	env.Start().Stop()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is there still: %v", err)
	}
}

// What people see of a conversation that was deleted; and that old sessions go when the gateway is
// told so, at once when it starts, and by a reload not any more.
func TestWhatWasDeletedIsNotResumedAndOldSessionsGo(t *testing.T) {
	t.Parallel()
	ctx, env := t.Context(), gatewaytest.Open(t, gatewaytest.Options{})
	gw := env.Start()
	ask := func(text, want string) {
		t.Helper()
		if got := gw.Ask(gatewaytest.Ann, text); !strings.Contains(got, want) {
			t.Errorf("%q is answered with %q", text, got)
		}
	}
	ask("hello", "hello")
	client := admin.NewClient(gw.AdminSocket())
	list, err := client.Sessions(ctx, admin.SessionQuery{})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatal(list, err)
	}
	ask("/new", "A new conversation")
	for {
		_, err := client.DeleteSession(ctx, string(list.Sessions[0].ID))
		if e, ok := errors.AsType[*admin.Error](err); ok && e.Kind == admin.Refused { // an answer is being sent
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	ask("/resume 1", "What was said in that conversation was deleted.")
	ask("/sessions", "(deleted)")
	ask("good morning", "good morning")
	gw.Stop()

	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(env.Config().StateDir, "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	token, long := "", time.Now().Add(-91*24*time.Hour)
	err = s.Mailboxes(ctx, func(m sessions.Mailbox) bool {
		token = m.Token
		return true
	})
	old := sessionkeys.NewSessionID(long)
	err = errors.Join(err, s.Restore(ctx, sessions.Restored{
		Session: old, Token: token, At: long,
		Messages: []transcript.Message{{ID: "m", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "a secret"}}, CreatedAt: long}},
	}), s.Close())
	if err != nil {
		t.Fatal(err)
	}
	gw = env.StartAs(func(c *settings.Config) { c.Retention.Sessions = 90 * 24 * time.Hour })
	gw.AwaitMetrics(`parley_sessions_deleted_total{reason="retention"} 1`)
	client = admin.NewClient(gw.AdminSocket())
	st, err := client.Status(ctx)
	if err != nil || st.Retention == nil || *st.Retention != (admin.Retention{Seconds: 90 * 24 * 3600, Deleted: 1}) {
		t.Errorf("the status says %+v, %v", st.Retention, err)
	}
	gone, err := client.Session(ctx, string(old), true)
	if err != nil || gone.Tree[0].State != admin.Deleted || gone.Tree[0].Deleted.By != "retention" {
		t.Errorf("the old session is %+v, %v", gone, err)
	}
	if done := gw.Reconfigure(func(c *settings.Config) { c.Retention.Sessions = 0 }); len(done.Changed) != 1 || len(done.NeedRestart) > 0 {
		t.Errorf("reloaded %+v", done)
	}
	if st, err = client.Status(ctx); err != nil || st.Retention != nil {
		t.Errorf("after the reload the status says %+v, %v", st.Retention, err)
	}
}
