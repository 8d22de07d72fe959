package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/transcript"
)

// TestMonthsChannelsAndGroupsAreCountedFromTheBeginningAfterAMigration: the rows
// of an older version name only the day of everything, the chat and the person,
// and one of its calls is still open.
func TestMonthsChannelsAndGroupsAreCountedFromTheBeginningAfterAMigration(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "parley.db")
	first, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, first, "ann")
	k, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.Group, Peer: "-7"})
	d.ok(err)
	d.key = k
	d.turn(0) // of which 40 are spent
	m, _, err := first.Touch(ctx, sessions.Touch{Token: d.key.Token(), Key: d.key, Seq: 2, By: d.w, Take: true, Now: noon})
	d.ok(err)
	opened, _, err := first.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: "open", Seq: 2, Channel: "tg", From: k.Address(), Sender: "u1", OpenedAt: noon},
		Message: transcript.Message{ID: "said", Role: transcript.User},
	})
	d.ok(err)
	call := costs.CallID{Turn: "open", Step: 1, Attempt: 1, Purpose: costs.RootTurn}
	d.ok(first.Reserve(ctx, m.Fence(), sessions.Charge{
		Session: opened.Session, Turn: "open", Scopes: []sessions.Scope{{Kind: "global"}, {Kind: "chat", ID: m.Token}, {Kind: "person", ID: "u1"}},
	}, costs.Reservation{ID: call.String(), At: noon, Estimate: costs.Estimate{
		Call: call, Labels: costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.RootTurn}, Upper: 100, Priced: true,
	}}))
	d.ok(first.Close())
	older(t, path)

	second := openAt(t, path)
	all := map[string]sessions.Scope{
		"day": {Kind: "global"}, "month": {Kind: "global", Window: costs.Month},
		"channel": {Kind: "channel", ID: "tg"}, "group": {Kind: "group", ID: `["telegram","bot","-7"]`},
	}
	holds := func(settled, held costs.Amount) {
		t.Helper()
		for name, scope := range all {
			s, h, err := second.Spent(ctx, scope, noon)
			if err != nil || s != settled || h != held {
				t.Errorf("%s: %v settled and %v held, not %v and %v (%v)", name, s, h, settled, held, err)
			}
		}
	}
	holds(40, 100)
	days, err := second.Dearest(ctx, noon, 9)
	if err != nil || len(days) != 1 || days[0] != 40 {
		t.Errorf("the dearest trees of the day are %v, %v", days, err)
	}
	if days, err = second.Dearest(ctx, noon.Add(24*time.Hour), 9); err != nil || len(days) != 0 {
		t.Errorf("the dearest trees of the day after are %v, %v", days, err)
	}
	d.ok(second.Settle(ctx, m.Fence(), costs.Settlement{Entry: costs.Entry{
		ID: call.String(), Call: call, Labels: costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.RootTurn},
		Amount: 7, Priced: true, State: costs.Settled, Outcome: "ok", At: noon.Add(time.Minute),
	}}))
	holds(47, 0)
}

// older takes away what the eighth migration derives, and spoils what it mends.
func older(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range append(
		withoutNewest(),
		"DELETE FROM schema_version WHERE version >= 8",
		"DELETE FROM spend WHERE kind IN ('channel', 'group') OR length(day) = 7",
		"UPDATE spend SET day = '2026-03-15' WHERE kind = 'tree'",
	) {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// withoutNewest takes back what the migrations from the eighth on added: a new one
// adds its own here.
func withoutNewest() []string {
	return []string{
		"DROP TABLE records", "DROP TABLE asked", "ALTER TABLE turns DROP COLUMN refused",
		"DROP TABLE frames", "ALTER TABLE outbox_parts DROP COLUMN by",
		"ALTER TABLE generation DROP COLUMN commits", "ALTER TABLE generation DROP COLUMN ticks", "ALTER TABLE generation DROP COLUMN doubt", "ALTER TABLE outbox DROP COLUMN again",
		"ALTER TABLE outbox DROP COLUMN file", "ALTER TABLE outbox DROP COLUMN choices",
		"ALTER TABLE outbox_parts DROP COLUMN repeats", "ALTER TABLE outbox_parts DROP COLUMN reason",
		"ALTER TABLE turns DROP COLUMN joined",
		"ALTER TABLE turns DROP COLUMN preview_state",
	}
}
