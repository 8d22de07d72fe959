package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/transcript"
)

// spread runs b.N steps on n goroutines.
func spread(b *testing.B, n int, step func(g, i int)) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for g := range n {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				step(g, i)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_s")
}

func BenchmarkGroupCommit(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("writers=", n), func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "parley.db"))
			d := newDesk(b, s, "ann")
			m, _, err := s.Touch(b.Context(), sessions.Touch{Token: d.key.Token(), Key: d.key, Seq: 1, By: d.w, Take: true, Now: noon})
			d.ok(err)
			f := m.Fence()
			_, _, err = s.Open(b.Context(), f, sessions.OpenTurn{Turn: sessions.Turn{ID: "t", Seq: 1}, Message: transcript.Message{ID: "m", Role: transcript.User}})
			d.ok(err)
			spread(b, n, func(_, i int) {
				d.ok(s.Append(b.Context(), f, "t", transcript.Message{ID: fmt.Sprint("m", i), Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "three hundred bytes, or so"}}}))
			})
		})
	}
}

func BenchmarkWholeTurn(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("chats=", n), func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "parley.db"))
			desks, seqs := make([]*desk, n), make([]uint64, n)
			for g := range desks {
				desks[g] = deskAt(b, s, "ann", fmt.Sprint("chat-", g))
			}
			spread(b, n, func(g, i int) {
				seqs[g]++
				desks[g].named(fmt.Sprint("turn-", i), seqs[g])
			})
		})
	}
}

func BenchmarkMessagesOf300(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "parley.db"))
	d := newDesk(b, s, "ann")
	for i := range 150 {
		d.turn(i)
	}
	id := d.session()
	for b.Loop() {
		if ms, err := s.Messages(b.Context(), id); err != nil || len(ms) != 300 {
			b.Fatal(len(ms), err)
		}
	}
}

func BenchmarkOpenWith100000Sessions(b *testing.B) {
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
	for _, q := range []string{
		`CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 100000) SELECT i FROM c`,
		`INSERT INTO sessions (id, key, token, parent, root, depth, tool_call, role, title, messages, created_at, updated_at) SELECT 's'||i, 'helper:bot:telegram:dm:p'||i, '', '', 's'||i, 0, '', 'main', '', 2, 0, 0 FROM n`,
		`INSERT INTO mailboxes (token, key, session, touched, read) SELECT printf('%032x', i), 'helper:bot:telegram:dm:p'||i, 's'||i, i, i FROM n`,
		`INSERT INTO messages (session, seq, id, role, parts, model, created_at, sum) SELECT 's'||i, k, 'm'||k, 'user', CAST(printf('%.*c', 300, 'x') AS BLOB), '', 0, 0 FROM n, (SELECT 1 AS k UNION SELECT 2)`,
	} {
		if _, err := db.ExecContext(b.Context(), "PRAGMA synchronous = OFF"); err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		if _, err := db.ExecContext(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
