package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"
)

// The numbers that a scrape reads, of a house with 100,000 sessions, a tenth of
// which had a turn in the last quarter of an hour and spent something today.
func BenchmarkSurveyOf100000Sessions(b *testing.B) {
	path := filepath.Join(b.TempDir(), "parley.db")
	s := openAt(b, path)
	newDesk(b, s, "ann").turn(0)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	since := time.Now().Add(-15 * time.Minute)
	for _, q := range []string{
		"PRAGMA synchronous = OFF",
		`CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 100000) SELECT i FROM c`,
		`INSERT INTO sessions (id, key, token, parent, root, depth, tool_call, role, title, created_at, updated_at) SELECT 's'||i, 'agent:bot:telegram:dm:p'||i, '', '', 's'||i, 0, '', 'main', '', 0, 0 FROM n`,
		`INSERT INTO mailboxes (token, key, session, touched, read) SELECT printf('%032x', i), 'agent:bot:telegram:dm:p'||i, 's'||i, i, i FROM n`,
		`INSERT INTO turns (id, token, session, nested, seq, state, attempts, channel, origin, reply_to, sender, received_at, opened_at, ended_at)
			SELECT 't'||i, printf('%032x', i), 's'||i, 0, i, 'done', 1, 'tg', '{"channel":"telegram","account":"bot","kind":"dm","peer":"p"}', '', 'x', 0, iif(i % 10, i, unixepoch() * 1000000), 0 FROM n`,
		`INSERT INTO spend (kind, id, day, settled, held) SELECT 'tree', 's'||i, date('now'), i * 1000003 % 1000000007, 0 FROM n WHERE i % 10 = 0`,
		`INSERT INTO spend (kind, id, day, settled, held) SELECT 'tree', 's'||i, '2026-01-01', i, 0 FROM n`,
	} {
		if _, err := db.ExecContext(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	s = openAt(b, path)
	for name, read := range map[string]func() (int, error){
		"dearest": func() (int, error) { as, err := s.Dearest(b.Context(), time.Now(), 10); return len(as), err },
		"active":  func() (int, error) { as, err := s.Active(b.Context(), since); return len(as), err },
		"queues":  func() (int, error) { _, n, err := s.Queues(b.Context(), 256); return n + 1, err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := read(); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
}
