package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/sessions"
	"parley/sessions/rules"
)

var morning = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// recordStore is a store that counts how often records are read from the file.
func recordStore(t *testing.T) (s *Store, reads *atomic.Int64) {
	t.Helper()
	reads = new(atomic.Int64)
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "parley.db"), Trace: func(query string) {
		if strings.Contains(query, "FROM records WHERE kind = ? AND key = ?") {
			reads.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, reads
}

func writeRecord(t *testing.T, s *Store, id sessions.RecordID, body string, expires time.Time) int64 {
	t.Helper()
	revision, err := s.WriteRecord(t.Context(), sessions.Record{
		ID: id, Body: []byte(body), At: morning, Expires: expires, Revision: sessions.AnyRevision,
	})
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func TestARecordIsReadFromTheFileOnce(t *testing.T) {
	t.Parallel()
	s, reads := recordStore(t)
	id := sessions.RecordID{Kind: "plan", Key: "a"}
	read := func(now time.Time) string {
		t.Helper()
		r, err := s.Record(t.Context(), id, now)
		if errors.Is(err, sessions.ErrNotFound) {
			return "none"
		}
		if err != nil {
			t.Fatal(err)
		}
		body := string(r.Body)
		clear(r.Body) // which is the reader's own
		return body
	}
	expect := func(want string, now time.Time, fromFile int64) {
		t.Helper()
		before := reads.Load()
		if got := read(now); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
		if n := reads.Load() - before; n != fromFile {
			t.Errorf("%d reads of the file, want %d", n, fromFile)
		}
	}
	expect("none", morning, 1)
	expect("none", morning, 0)
	writeRecord(t, s, id, "one", morning.Add(time.Hour))
	expect("one", morning, 1)
	expect("one", morning, 0)
	expect("none", morning.Add(2*time.Hour), 0) // it has expired meanwhile
	writeRecord(t, s, id, "two", time.Time{})
	expect("two", morning, 1)
	if err := s.DropRecord(t.Context(), id, sessions.AnyRevision); err != nil {
		t.Fatal(err)
	}
	expect("none", morning, 1)
	expect("none", morning, 0)

	writeRecord(t, s, id, strings.Repeat("x", maxRecordBytes+1), time.Time{}) // too large to be remembered
	read(morning)
	before := reads.Load()
	read(morning)
	if n := reads.Load() - before; n != 1 {
		t.Errorf("%d reads of a large record", n)
	}

	gone, stop := context.WithCancel(t.Context())
	stop()
	writeRecord(t, s, id, "three", time.Time{})
	expect("three", morning, 1)
	if _, err := s.Record(gone, id, morning); !errors.Is(err, context.Canceled) {
		t.Errorf("read with a context that has ended: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Record(t.Context(), id, morning); !errors.Is(err, errClosed) {
		t.Errorf("read of a closed store: %v", err)
	}
}

// What was read of the file before a change may be learned after it.
func TestARecordReadBeforeAChangeIsNotRemembered(t *testing.T) {
	t.Parallel()
	k := rules.RecordKey{Kind: "plan", Key: "a"}
	old := rules.Record{Record: sessions.Record{ID: sessions.RecordID(k), Body: []byte("old")}}
	for _, c := range []struct {
		when   string
		change func(*recordCache)
	}{
		{"while it is committed", func(c *recordCache) { c.begin([]rules.Key{k}) }},
		{"since it was committed", func(c *recordCache) { c.begin([]rules.Key{k}); c.end() }},
	} {
		cache := newRecordCache()
		since := cache.since()
		c.change(cache)
		cache.learn(k, old, since)
		if row, ok := cache.get(k, cache.since()); ok {
			t.Errorf("%s: %+v is remembered", c.when, row)
		}
	}
	cache := newRecordCache()
	cache.begin([]rules.Key{k})
	cache.learn(k, old, cache.since()) // read before the commit was done
	cache.end()
	if row, ok := cache.get(k, cache.since()); ok {
		t.Errorf("read during the commit: %+v is remembered", row)
	}
	cache.learn(k, old, cache.since())
	if _, ok := cache.get(k, cache.since()); !ok {
		t.Error("nothing is remembered")
	}
}

// Whatever was answered, who asks afterwards reads it or something newer; so does who has read
// it by another way.
func TestNoRecordIsReadOlderThanItWasAnswered(t *testing.T) {
	t.Parallel()
	s, _ := recordStore(t)
	const writes, readers = 60, 4
	id := sessions.RecordID{Kind: "plan", Key: "a"}
	var answered atomic.Int64
	answered.Store(writeRecord(t, s, id, "begun", time.Time{}))
	done := make(chan struct{})
	var reading sync.WaitGroup
	for n := range readers {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least := answered.Load()
				if n%2 == 0 { // by the list, which is not remembered
					err := s.Records(context.Background(), id.Kind, "", morning, func(r sessions.Record) bool {
						least = max(least, r.Revision)
						return true
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
				r, err := s.Record(context.Background(), id, morning)
				if err != nil {
					t.Error(err)
					return
				}
				if r.Revision < least {
					t.Errorf("read revision %d after %d", r.Revision, least)
					return
				}
			}
		})
	}
	for i := range writes {
		answered.Store(writeRecord(t, s, id, fmt.Sprint("write ", i), time.Time{}))
	}
	close(done)
	reading.Wait()
}

func BenchmarkRecord(b *testing.B) {
	s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "parley.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	id := sessions.RecordID{Kind: "plan", Key: "a"}
	for name, before := range map[string]func(){
		"remembered": func() {},
		"file":       func() { s.records.begin([]rules.Key{rules.RecordKey(id)}); s.records.end() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				before()
				if _, err := s.Record(b.Context(), id, morning); !errors.Is(err, sessions.ErrNotFound) {
					b.Fatal(err)
				}
			}
		})
	}
}

// From the first chat on that moves or is closed, each message asks several times where its own is.
func TestAChatIsReadFromTheFileOnce(t *testing.T) {
	t.Parallel()
	statements := new(atomic.Int64)
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "parley.db"), Trace: func(string) { statements.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	at := func(peer string) sessions.ChatID { return sessions.ChatID{Channel: "tg", Account: "bot", Peer: peer} }
	expect := func(peer string, ids []string, closed, read bool) {
		t.Helper()
		before := statements.Load()
		c, err := s.Chat(t.Context(), at(peer))
		if err != nil || !slices.Equal(c.IDs, ids) || c.Closed != closed {
			t.Errorf("%s is %+v, %v", peer, c, err)
		}
		if n := statements.Load() - before; (n > 0) != read {
			t.Errorf("%d statements for %s", n, peer)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if _, err := s.Move(t.Context(), at(from), to, morning); err != nil {
			t.Fatal(err)
		}
	}
	move("x", "y")
	expect("a", []string{"a"}, false, true)
	expect("a", []string{"a"}, false, false)
	move("a", "b")
	expect("a", []string{"a", "b"}, false, true)
	expect("b", []string{"a", "b"}, false, false)
	move("b", "c")
	expect("a", []string{"a", "b", "c"}, false, true)
	expect("b", []string{"a", "b", "c"}, false, false)
	if _, _, err := s.CloseChat(t.Context(), sessions.CloseRequest{ID: "1", Chat: at("c"), At: morning}); err != nil {
		t.Fatal(err)
	}
	expect("a", []string{"a", "b", "c"}, true, true)
	expect("c", []string{"a", "b", "c"}, true, false)
}

// What two questions of one operation are answered is one state.
func TestWhatIsRememberedOnBothSidesOfAChangeIsNotReadTogether(t *testing.T) {
	t.Parallel()
	cache := newRecordCache()
	a, b := rules.ChatKey{Peer: "a"}, rules.ChatKey{Peer: "b"}
	since := cache.since()
	cache.learn(a, nil, since)
	v := rememberedView{cache, since}
	if _, err := v.Get(a); err != nil {
		t.Fatal(err)
	}
	cache.begin([]rules.Key{a, b})
	cache.end()
	cache.learn(b, nil, cache.since())
	if _, err := v.Get(b); !errors.Is(err, errUnknown) {
		t.Errorf("a row of after the change was read: %v", err)
	}
}
