package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/sqlite"
)

// wholeTable says whether a plan's line reads all of a table or of an index: it
// searches nothing. What a step before it found is no table.
func wholeTable(detail string) bool {
	table, ok := strings.CutPrefix(detail, "SCAN ")
	return ok && !strings.HasPrefix(table, "below") && !strings.HasPrefix(table, "(")
}

func TestNoQueryReadsAWholeTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	newDesk(t, s, "ann").turn(0)
	db := opened(t, path)
	n := 0
	for query, a := range sqlite.Statements() {
		n++
		for _, detail := range plan(t, db, query, a) {
			if wholeTable(detail) {
				t.Errorf("%s\n%s", query, detail)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d statements were explained", n)
	}
}

// small are what a statement may read whole: tables of a few rows, however much is stored, and the
// index of the answers that are not done.
var small = regexp.MustCompile(`^SCAN (generation|workers|reservations|moves|shut|sqlite_schema|sqlite_master|CONSTANT ROW|\d+ CONSTANT ROWS|\d+-ROW VALUES|outbox USING INDEX outbox_pending)\b`)

// TestNoStepOfATurnReadsAWholeTable: nor does opening a database, nor the first turn behind that,
// which reads what later ones know.
func TestNoStepOfATurnReadsAWholeTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	var mu sync.Mutex
	ran := map[string]bool{}
	trace := func(query string) {
		mu.Lock()
		defer mu.Unlock()
		ran[query] = true
	}
	for turn := range 2 {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Trace: trace})
		if err != nil {
			t.Fatal(err)
		}
		d := newDesk(t, s, "ann")
		d.turn(2 * turn)
		d.turn(2*turn + 1)
		_, err = s.Pending(t.Context(), "tg", 0, 10)
		d.ok(err)
		d.ok(s.Close())
	}
	db := opened(t, path)
	explained := 0
	for query := range ran {
		if verb, _, _ := strings.Cut(query, " "); !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, verb) {
			continue
		}
		explained++
		for _, detail := range plan(t, db, query, make([]any, places(query))) {
			if wholeTable(detail) && !small.MatchString(detail) {
				t.Errorf("%s\n%s", query, detail)
			}
		}
	}
	if explained < 25 {
		t.Errorf("only %d statements were explained", explained)
	}
}

// places counts what a statement is to be given.
func places(query string) int {
	n := strings.Count(query, "?")
	for i := 1; strings.Contains(query, fmt.Sprintf("?%d", i)); i++ {
		n = i
	}
	return n
}

func plan(t *testing.T, db *sql.DB, query string, a []any) (details []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, a...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		details = append(details, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return details
}

func opened(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// A database of before the queries gets their columns from its entries.
func TestTheLedgerOfAnOlderDatabaseIsSummedUpToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	d := newDesk(t, s, "ann")
	d.turn(0)
	d.turn(1)
	want, err := s.Usage(t.Context(), sessions.UsageQuery{Since: noon, Until: noon.Add(time.Millisecond), By: sessions.ByDay})
	d.ok(err)
	if len(want) != 1 || want[0].Amount != 80 || want[0].Calls != 2 {
		t.Fatalf("before: %+v", want)
	}
	d.ok(s.Close())
	db := opened(t, path)
	for _, q := range slices.Concat(withoutNewest(), []string{
		"DROP INDEX ledger_at", "DROP INDEX sessions_lately", "DROP INDEX turns_session", "DROP TABLE wordings", "DROP TABLE moves", "DROP TABLE shut",
		"DROP INDEX turns_nested", "ALTER TABLE spend DROP COLUMN doubt", "ALTER TABLE spend DROP COLUMN doubt_until",
	}, dropped()) {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM schema_version WHERE version > 2"); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, path)
	got, err := again.Usage(t.Context(), sessions.UsageQuery{Since: noon, Until: noon.Add(time.Millisecond), By: sessions.ByDay})
	d.ok(err)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after: %+v, want %+v", got, want)
	}
	d.ok(again.Check(t.Context()))
	if _, err := db.ExecContext(t.Context(), "UPDATE ledger SET amount = 0"); err == nil {
		t.Error("the ledger may be changed after the migration")
	}
}

func dropped() (qs []string) {
	for _, c := range []string{"at", "interrupted", "input", "cache_read", "cache_write", "output", "reasoning"} {
		qs = append(qs, "ALTER TABLE ledger DROP COLUMN "+c)
	}
	return qs
}

// stored100000 is a closed database with as many sessions, turns and entries.
func stored100000(b *testing.B) *sqlite.Store {
	b.Helper()
	path := filepath.Join(b.TempDir(), "parley.db")
	s := openAt(b, path)
	newDesk(b, s, "ann").turn(0)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db := opened(b, path)
	for _, q := range []string{
		"PRAGMA synchronous = OFF",
		`CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 100000) SELECT i FROM c`,
		`INSERT INTO sessions (id, key, token, parent, root, depth, tool_call, role, title, messages, own, subtree, created_at, updated_at)
			SELECT 's'||i, 'helper:bot:telegram:dm:p'||i, '', '', 's'||i, 0, '', 'main', '', 2, i * 7919 % 1000003, i * 7919 % 1000003, 0, i * 1000000 FROM n`,
		`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at)
			SELECT 't'||i, '', 's'||i, 0, 1, 'done', 1, CASE WHEN i % 1000 = 0 THEN 'rare' ELSE 'tg' END, '{}', '', '', 0, 0, 0 FROM n`,
		`INSERT INTO ledger (id, session, turn, provider, model, channel, purpose, amount, priced, entry, at, input, output)
			SELECT 'e'||i, 's'||i, 't'||i, 'maker', 'model-'||(i % 5), 'tg', 'root', i, 1, printf('%.*c', 400, 'x'), i * 1000000, 1000, 100 FROM n`,
	} {
		if _, err := db.ExecContext(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
	return openAt(b, path)
}

func BenchmarkQueriesOver100000Sessions(b *testing.B) {
	s := stored100000(b)
	last := time.Unix(100_000, 0)
	for name, q := range map[string]sessions.SessionQuery{
		"lately": {Limit: 20}, "dearest": {Limit: 20, ByCost: true}, "since, dearest": {Limit: 20, ByCost: true, Since: last.Add(-time.Hour)},
		"rare channel": {Limit: 20, Channel: "rare"}, "no such channel": {Limit: 20, Channel: "nowhere"},
	} {
		b.Run("sessions/"+name, func(b *testing.B) {
			for b.Loop() {
				if ss, err := s.Sessions(b.Context(), q); err != nil || len(ss) != 20 && name != "no such channel" {
					b.Fatal(len(ss), err)
				}
			}
		})
	}
	for _, by := range sessions.Groupings() {
		for name, since := range map[string]time.Time{"all": {}, "hour": last.Add(-time.Hour)} {
			b.Run(fmt.Sprint("usage/", by, "/", name), func(b *testing.B) {
				for b.Loop() {
					us, err := s.Usage(b.Context(), sessions.UsageQuery{Since: since, By: by})
					var sum costs.Amount
					for _, u := range us {
						sum += u.Amount
					}
					if err != nil || sum == 0 {
						b.Fatal(sum, err)
					}
				}
			})
		}
	}
	b.Run("backlog", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Backlog(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
