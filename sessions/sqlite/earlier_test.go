package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/sessions"
)

// written is a database of an earlier version: its schema, by the migrations up to it,
// and rows as that version wrote them.
func written(t *testing.T, version int, rows ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(steps) < version {
		t.Fatalf("there are %d migrations, %v", len(steps), err)
	}
	qs := []string{"PRAGMA application_id = 0x70726c79", "CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT"}
	for i, name := range steps[:version] {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		qs = append(qs, string(b), fmt.Sprintf("INSERT INTO schema_version VALUES (%d, 1)", i+1))
	}
	for _, q := range append(qs, rows...) {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%v: %s", err, q)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheTextsOfPartsBecomeTheirRepeatsAndReasons: up to version 14 a part's problem
// said how often it was sent again, or why its file failed.
func TestTheTextsOfPartsBecomeTheirRepeatsAndReasons(t *testing.T) {
	t.Parallel()
	const at = "1773489600000000" // noon
	rows := []string{`INSERT INTO outbox (no, id, channel, session, turn, target, reply_to, body, at) VALUES
		(1, 'a', 'tg', '', '', '{"channel":"telegram","account":"bot","kind":"dm","peer":"7"}', '', 'hello', ` + at + `)`}
	var want []sessions.Part
	for i, c := range []struct {
		state   sessions.SendState
		problem string
		want    sessions.Part
	}{
		{sessions.Sending, "repeat 2: the one before may have arrived", sessions.Part{Repeats: 2}},
		{sessions.Ambiguous, "repeat 0: the one before may have arrived", sessions.Part{}},
		{sessions.Ambiguous, "send: ambiguous: reset", sessions.Part{Problem: "send: ambiguous: reset"}},
		{
			sessions.Failed, "sent 6 times, and not once is it known to have arrived: send: ambiguous: reset",
			sessions.Part{Repeats: 5, Reason: sessions.Unconfirmed, Problem: "sent 6 times, and not once is it known to have arrived: send: ambiguous: reset"},
		},
		{sessions.Failed, "files cannot be sent from here to this chat: x", sessions.Part{Reason: sessions.NoFiles, Problem: "files cannot be sent from here to this chat: x"}},
		{sessions.Failed, "it is not kept any more: x", sessions.Part{Reason: sessions.FileGone, Problem: "it is not kept any more: x"}},
		{sessions.Failed, "it is not kept as it was: x", sessions.Part{Reason: sessions.FileChanged, Problem: "it is not kept as it was: x"}},
		{
			sessions.Failed, "it has 9 bytes, and the network takes 8: x",
			sessions.Part{Reason: sessions.TooLarge, Problem: "it has 9 bytes, and the network takes 8: x"},
		},
		{sessions.Failed, "the network refuses it: x", sessions.Part{Reason: sessions.Refused, Problem: "the network refuses it: x"}},
		{sessions.Failed, "send: rejected: repeat 1: no", sessions.Part{Problem: "send: rejected: repeat 1: no"}},
		{sessions.Queued, "", sessions.Part{}},
	} {
		rows = append(rows, fmt.Sprintf("INSERT INTO outbox_parts (outbox, idx, body, state, attempts, message_id, problem, at, by) VALUES (1, %d, x'78', '%s', 3, '', '%s', %s, 'ann')",
			i, c.state, c.problem, at))
		p := c.want
		p.Body, p.State, p.Attempts, p.At, p.By = []byte("x"), c.state, 3, noon, "ann"
		want = append(want, p)
	}
	s := openAt(t, written(t, 14, rows...))
	ds, err := s.Pending(t.Context(), "tg", 0, 9)
	if err != nil || len(ds) != 1 {
		t.Fatalf("%d are pending, %v", len(ds), err)
	}
	if d := cmp.Diff(want, ds[0].Parts); d != "" {
		t.Error(d)
	}
	if err := s.Advance(t.Context(), "a", sessions.Progress{Marks: []sessions.Mark{
		{Index: 1, From: sessions.Ambiguous, To: sessions.Sending, Repeats: 1, At: noon.Add(time.Second)},
	}}); err != nil {
		t.Fatal(err)
	}
	d, err := s.Delivery(t.Context(), "a")
	if err != nil || d.Parts[1].Repeats != 1 || d.Parts[1].Attempts != 4 {
		t.Errorf("it goes on as %+v, %v", d.Parts[1], err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWhatJoinedATurnIsReadFromTheInbox: up to version 15 only the events said which turn
// they became.
func TestWhatJoinedATurnIsReadFromTheInbox(t *testing.T) {
	t.Parallel()
	const address = `{"channel":"telegram","account":"bot","kind":"dm","peer":"7"}`
	row := func(id string, seq int) string {
		return fmt.Sprintf(`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at)
			VALUES ('%s', 'token', 's', 0, %d, 'done', 1, 'tg', '%s', '', 'u', 1, %d, 1)`, id, seq, address, seq)
	}
	event := func(name, turn string, seq int) string {
		return fmt.Sprintf("INSERT INTO inbox (channel, account, chat, event, token, turn, seq, epoch, nonce) VALUES ('telegram', 'bot', '7', '%s', 'token', '%s', %d, 1, 'n')", name, turn, seq)
	}
	s := openAt(t, written(t, 15,
		`INSERT INTO sessions (id, key, token, parent, root, depth, tool_call, role, title, created_at, updated_at)
			VALUES ('s', 'helper:telegram:dm:bot:7', 'token', '', 's', 0, '', 'main', '', 1, 1)`,
		row("alone", 1), row("joined", 2), row("album", 12),
		event("a", "alone", 1), event("b", "joined", 2), event("c", "joined", 2), // it was opened by two
		event("k", "joined", 11), event("d", "joined", 3), event("e", "joined", 3), // an album joined
		event("f", "album", 12), event("command", "", 13), event("of another database", "unknown", 14),
	))
	ts, err := s.TurnsOf(t.Context(), "s")
	if err != nil || len(ts) != 3 {
		t.Fatalf("there are %d turns, %v", len(ts), err)
	}
	got := map[string][]uint64{}
	for _, one := range ts {
		got[one.ID] = one.Joined
	}
	if d := cmp.Diff(map[string][]uint64{"alone": nil, "joined": {3, 11}, "album": nil}, got); d != "" {
		t.Error(d)
	}
}

// TestANotedPreviewBecomesItsState: up to version 16 "?" in place of an id stood for a
// preview that was begun.
func TestANotedPreviewBecomesItsState(t *testing.T) {
	t.Parallel()
	rows := []string{`INSERT INTO sessions (id, key, token, parent, root, depth, tool_call, role, title, created_at, updated_at)
		VALUES ('s', 'helper:telegram:dm:bot:7', 'token', '', 's', 0, '', 'main', '', 1, 1)`}
	for id, preview := range map[string]string{"none": "", "begun": "?", "shown": "41"} {
		rows = append(rows, fmt.Sprintf(`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at, preview)
			VALUES ('%s', 'token', 's', 0, 1, 'done', 1, 'tg', '{"channel":"telegram","account":"bot","kind":"dm","peer":"7"}', '', 'u', 1, 1, 1, '%s')`, id, preview))
	}
	s := openAt(t, written(t, 16, rows...))
	for id, want := range map[string]sessions.Preview{
		"none": {}, "begun": {State: sessions.PreviewBegun}, "shown": {State: sessions.PreviewShown, ID: "41"},
	} {
		if got, err := s.Previewed(t.Context(), id); err != nil || got != want {
			t.Errorf("%s is %+v, %v", id, got, err)
		}
	}
}
