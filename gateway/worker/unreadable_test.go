package worker_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/gateway/worker"
	"parley/sessions"
)

// A record whose body is damaged blocks no command: it counts as none, the log says so, and the
// command that sets one replaces it.
func TestARecordThatCannotBeReadIsReplaced(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		var logged bytes.Buffer
		r.start("w", choices(r, otherModel(r, "aa")), func(o *worker.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
		ask := func(text, want string) {
			t.Helper()
			r.say(1, text)
			r.idle()
			if got := lastAnswer(r, 1); !strings.Contains(got, want) {
				t.Errorf("%q is answered with %q, want %q", text, got, want)
			}
		}
		spoil := func(kind, key string) {
			t.Helper()
			logged.Reset()
			id := sessions.RecordID{Kind: kind, Key: key}
			was, err := r.store.Record(t.Context(), id, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			was.Body, was.At = []byte(`{"text":`), was.At.Add(1)
			if _, err := r.store.WriteRecord(t.Context(), was); err != nil {
				t.Fatal(err)
			}
		}
		wantLogged := func(id string) {
			t.Helper()
			if got := logged.String(); !strings.Contains(got, "level=WARN msg=\"record unreadable") || !strings.Contains(got, id) {
				t.Errorf("the log does not say that %s cannot be read: %s", id, got)
			}
		}
		ask("hello", "re: hello")
		m := r.mailbox(1)
		session, token := string(m.Session), m.Key.Token()

		ask("/goal paint it", "our goal now")
		spoil("goal", session)
		ask("/status", "I am idle")
		ask("/done", "There is no goal")
		wantLogged(session)
		ask("/goal wash it", "our goal now: `wash it`")
		ask("/done", "Goal completed: `wash it`")

		ask("/title Apples", "now called `Apples`")
		spoil("title", session)
		ask("/status", "I am idle")
		ask("/sessions", "`hello`")
		ask("/title Pears", "now called `Pears`")
		wantLogged(session)
		ask("/sessions", "`Pears`")

		ask("/new", "A new conversation")
		spoil("conversation", token)
		ask("/sessions", "no earlier conversations")
		ask("/resume 1", "no such conversation")
		wantLogged(token)
		ask("other", "re: other")
		ask("/resume "+session, "Back in the conversation `Pears`") // by its whole id, as with one that is forgotten
		ask("/sessions", "- 1: `other`")

		ask("/model aa", "From your next message on")
		spoil("model_choice", token)
		ask("/status", "I am idle")
		ask("again", "re: again")
		ask("/model aa", "From your next message on")
		ask("chosen", "by aa")
	})
}
