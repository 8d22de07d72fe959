package gateway

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// answer is a turn of the mailbox's message at seq, from its touch to its end.
func (s *standing) answer(k sessionkeys.Key, generation string, seq uint64) {
	s.t.Helper()
	ctx, now := s.t.Context(), time.Now()
	me := sessions.Worker{Name: "w", Nonce: fmt.Sprint(seq)}
	ok := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	ok(s.store.Heartbeat(ctx, me, now.Add(time.Hour)))
	m, got, err := s.store.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: seq, By: me, Take: true, Now: now})
	if ok(err); !got {
		s.t.Fatal("the mailbox was not taken")
	}
	id := worker.TurnID(generation, k.Token(), seq)
	_, _, err = s.store.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: id, Seq: seq, Channel: "tg", From: k.Address(), OpenedAt: now},
		Events:  []sessions.InboxID{{Channel: "telegram", Event: id}},
		Message: transcript.Message{ID: id + "-asked", Role: transcript.User, CreatedAt: now, Parts: []transcript.Part{transcript.Text{Text: "hello"}}},
	})
	ok(err)
	_, err = s.store.Finish(ctx, m.Fence(), sessions.FinishTurn{Turn: id, Outcome: transcript.EndTurn, At: now})
	ok(err)
}

// history is a gateway's past in a folder: of Ann's two messages both were
// answered, of Ben's two the first, and of Eve's nobody heard. An older copy ends
// with the first ones.
type history struct {
	older, newer string
	ends         uint64 // the log's last place
}

func newHistory(t *testing.T) history {
	t.Helper()
	past := history{older: t.TempDir(), newer: t.TempDir()}
	now := t.TempDir()
	ann, ben, eve := personKey(t, 1), personKey(t, 2), personKey(t, 3)
	live := func(copied string, talk func(s *standing, generation string)) {
		store := openFile(t, now)
		s := stand(t, filepath.Join(now, "log"), store)
		s.compare()
		generation, _, err := s.log.Generation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		talk(s, generation)
		s.recordLastTick(t.Context())
		s.end()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(copied, os.DirFS(now)); err != nil {
			t.Fatal(err)
		}
	}
	live(past.older, func(s *standing, generation string) {
		s.answer(ann, generation, s.publish(ann, ann))
		s.answer(ben, generation, s.publish(ben, ben))
	})
	live(past.newer, func(s *standing, generation string) {
		s.answer(ann, generation, s.publish(ann, ann))
		s.touch(ben, s.publish(ben, ben))
		past.ends = s.publish(eve, eve)
	})
	return past
}

// Whatever copies of store and log come together: what the log still has and the
// store does not know is found, whose messages are gone is told, what may have been
// answered is in doubt, and no place that either knows is used again.
func TestWhateverCopiesOfStoreAndLogComeTogether(t *testing.T) {
	t.Parallel()
	const (
		older = "older"
		newer = "newer"
		none  = "none"

		another    = "message log replaced"
		shorter    = "message log is missing its newest messages"
		oldStore   = "database older than the message log"
		unanswered = "unread messages lost, their chats are notified"
	)
	past := newHistory(t)
	for _, c := range []struct {
		store, log string
		ann, ben   uint64 // up to where the store knows of their messages
		eve        uint64
		lost, told int
		doubt      bool
		says       []string
	}{
		{store: newer, log: newer, ann: 3, ben: 4}, // Eve's is still to be delivered
		{store: older, log: newer, ann: 3, ben: 4, eve: 5, doubt: true, says: []string{oldStore}},
		{store: none, log: newer, ann: 3, ben: 4, eve: 5, doubt: true, says: []string{oldStore}},
		{store: newer, log: older, ann: 3, ben: 4, lost: 1, told: 1, says: []string{shorter, unanswered}},
		{store: older, log: older, ann: 1, ben: 2},
		{store: none, log: older, ann: 1, ben: 2, doubt: true, says: []string{oldStore}},
		{store: newer, log: none, lost: 1, told: 1, says: []string{another, unanswered}},
		{store: older, log: none, says: []string{another}},
		{store: none, log: none},
	} {
		t.Run(c.store+" store, "+c.log+" log", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put := func(which string, names ...string) {
				if which == none {
					return
				}
				from := t.TempDir()
				if err := os.CopyFS(from, os.DirFS(map[string]string{older: past.older, newer: past.newer}[which])); err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name))
					if err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				}
			}
			put(c.store, database, database+"-wal", database+"-shm", database+".lock")
			put(c.log, "log")
			store := openFile(t, dir)
			s := stand(t, filepath.Join(dir, "log"), store)
			stands := s.compare()

			if got := []uint64{s.touched(personKey(t, 1)), s.touched(personKey(t, 2)), s.touched(personKey(t, 3))}; fmt.Sprint(got) != fmt.Sprint([]uint64{c.ann, c.ben, c.eve}) {
				t.Errorf("the store knows of messages up to %v, not %v", got, []uint64{c.ann, c.ben, c.eve})
			}
			if got := s.lost; got != c.lost {
				t.Errorf("%d conversations are counted as having lost messages, not %d", got, c.lost)
			}
			told, err := store.Pending(t.Context(), "tg", 0, 10)
			if err != nil || len(told) != c.told || c.told > 0 && (told[0].Text != worker.LostText || told[0].To != personKey(t, 2).Address()) {
				t.Errorf("told: %+v, %v; want %d", told, err, c.told)
			}
			_, last, err := s.log.Generation(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (stands.ambiguousThrough > 0) != c.doubt || stands.ambiguousThrough > last {
				t.Errorf("what was said up to %d is in doubt; the log ends at %d", stands.ambiguousThrough, last)
			}
			for _, what := range []string{another, shorter, oldStore, unanswered} {
				want := false
				for _, w := range c.says {
					want = want || w == what
				}
				s.says(what, want)
			}

			// Nobody's next message stands where another was.
			seq := s.publish(personKey(t, 3), personKey(t, 3))
			if c.log != none && c.store == newer && seq <= past.ends-1 || seq <= max(c.ann, c.ben, c.eve) {
				t.Errorf("the next message stands at %d", seq)
			}
			s.end()
			claims(t, filepath.Join(dir, "log"), func(*mark) {})
			s = stand(t, filepath.Join(dir, "log"), store)
			again := s.compare()
			if got := s.touched(personKey(t, 3)); got != seq {
				t.Errorf("of the next message the store knows up to %d, not %d", got, seq)
			}
			if again.ambiguousThrough != stands.ambiguousThrough || s.lost != 0 {
				t.Errorf("the next start doubts what was said up to %d, not %d, and counts %d as lost again", again.ambiguousThrough, stands.ambiguousThrough, s.lost)
			}
			for _, what := range []string{another, shorter, oldStore, unanswered} {
				s.says(what, false)
			}
		})
	}
}

// The log's own files may be those of an older copy beside notes of a newer one.
func TestALogBesideNewerNotesIsNotUsedTwice(t *testing.T) {
	t.Parallel()
	past := newHistory(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(past.older)); err != nil {
		t.Fatal(err)
	}
	claims(t, filepath.Join(dir, "log"), func(m *mark) { m.LastSeq = past.ends })
	s := stand(t, filepath.Join(dir, "log"), openFile(t, dir))
	s.compare()
	if got := s.lost; got != 3 {
		t.Errorf("%d messages are counted as lost, not 3", got)
	}
	if got := s.publish(personKey(t, 1), personKey(t, 1)); got != past.ends+1 {
		t.Errorf("the next message stands at %d, not %d", got, past.ends+1)
	}
}
