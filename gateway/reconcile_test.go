package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/broker"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/sessions/sqlite"
)

// standing is what a gateway compares at its start: a real log and a store, and
// what it says of them.
type standing struct {
	*storage
	t    *testing.T
	said *bytes.Buffer
	lost int                 // messages that were counted as lost
	raw  jetstream.JetStream // nil until somebody needs it
}

// stand opens the log in a folder beside the store.
func stand(t *testing.T, dir string, store sessions.Store) *standing {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{Dir: dir, Listen: "127.0.0.1:0", MaxBytes: 64 << 20, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	s := &standing{
		storage: &storage{
			store: store, log: b, logger: slog.New(slog.NewTextHandler(said, nil)), now: time.Now,
		},
		t: t, said: said,
	}
	s.countLost = func(messages int) { s.lost += messages }
	t.Cleanup(s.end)
	return s
}

// end closes the log in order.
func (s *standing) end() {
	s.t.Helper()
	if err := s.log.Close(context.Background()); err != nil {
		s.t.Errorf("close the log: %v", err)
	}
}

// compare is the start of a gateway.
func (s *standing) compare() recovery {
	s.t.Helper()
	stands, err := s.reconcile(s.t.Context())
	if err != nil {
		s.t.Fatalf("the start failed: %v", err)
	}
	return stands
}

// publish lets somebody say something and returns its place in the log.
func (s *standing) publish(to, from sessionkeys.Key) uint64 {
	s.t.Helper()
	return s.publishAs(to.Token(), from.String())
}

func (s *standing) publishAs(token, name string) uint64 {
	s.t.Helper()
	seq, err := s.log.Publish(s.t.Context(), broker.Envelope{ID: rand.Text(), Token: token, Key: name, Body: json.RawMessage(`{}`)})
	if err != nil {
		s.t.Fatal(err)
	}
	return seq
}

// engine is the log's own, for what no gateway does.
func (s *standing) engine() jetstream.JetStream {
	s.t.Helper()
	if s.raw != nil {
		return s.raw
	}
	nc, err := nats.Connect("nats://"+s.log.Addr().String(), nats.Timeout(time.Minute))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	if s.raw, err = jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	return s.raw
}

// write puts data into a mailbox past everybody.
func (s *standing) write(to sessionkeys.Key, data string) {
	s.t.Helper()
	if _, err := s.engine().Publish(s.t.Context(), "in.v1."+to.Token()[:1]+"."+to.Token(), []byte(data)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *standing) touch(k sessionkeys.Key, seq uint64) {
	s.t.Helper()
	if _, _, err := s.store.Touch(s.t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: seq, Now: time.Now()}); err != nil {
		s.t.Fatal(err)
	}
}

// touched is how far the store knows of a mailbox; 0: not at all.
func (s *standing) touched(k sessionkeys.Key) uint64 {
	s.t.Helper()
	m, err := s.store.Mailbox(s.t.Context(), k.Token())
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		s.t.Fatal(err)
	}
	return m.LastSeen
}

func (s *standing) says(what string, want bool) {
	s.t.Helper()
	if strings.Contains(s.said.String(), what) != want {
		s.t.Errorf("that %q is said: %v; all that was said:\n%s", what, !want, s.said)
	}
}

func personKey(t *testing.T, person int) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: fmt.Sprint(person)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// openFile is a real store in a file of that folder.
func openFile(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, database)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// onBoth runs a test on a store in a file and on one that others share.
func onBoth(t *testing.T, f func(t *testing.T, open func(t *testing.T) sessions.Store)) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		f(t, func(t *testing.T) sessions.Store { return openFile(t, t.TempDir()) })
	})
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		f(t, func(*testing.T) sessions.Store { return memtest.New(memtest.Every) })
	})
}

// What stands last in a mailbox may not be ours, or not be there any more. It holds
// up no start, and hides nothing that was said before.
func TestAMailboxThatEndsWithSomethingElseHoldsUpNoStart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(t *testing.T) sessions.Store) {
		dir, store, eve := t.TempDir(), open(t), personKey(t, 1)
		s := stand(t, dir, store)
		want, whose := map[sessionkeys.Key]uint64{}, map[sessionkeys.Key]string{}
		for name, last := range map[string]func(k sessionkeys.Key){
			"no envelope":                  func(k sessionkeys.Key) { s.write(k, "garbage") },
			"nothing at all":               func(k sessionkeys.Key) { s.write(k, "") },
			"a message of another mailbox": func(k sessionkeys.Key) { s.publish(k, eve) },
			"no conversation":              func(k sessionkeys.Key) { s.publishAs(k.Token(), "nobody") },
			"two that are not ours":        func(k sessionkeys.Key) { s.write(k, "garbage"); s.publish(k, eve) },
			"two, the other way round":     func(k sessionkeys.Key) { s.publish(k, eve); s.write(k, "garbage") },
			"too much to keep":             func(k sessionkeys.Key) { s.write(k, strings.Repeat("x", broker.DefaultMaxBody)) },
			"what is ours":                 func(k sessionkeys.Key) { want[k] = s.publish(k, k) },
		} {
			for _, before := range []int{0, 1, 3} {
				k := personKey(t, 100+len(want))
				want[k], whose[k] = 0, fmt.Sprintf("%s, behind %d", name, before)
				for range before {
					want[k] = s.publish(k, k)
				}
				last(k)
			}
		}
		for start := range 3 { // each looks again
			s.compare()
			for k, seq := range want {
				if got := s.touched(k); got != seq {
					t.Errorf("start %d, %s: the store knows up to %d, not %d", start, whose[k], got, seq)
				}
			}
			s.end()
			s = stand(t, dir, store)
		}
	})
}

// A message may be deleted after somebody saw its place.
func TestWhatWasDeletedMeanwhileHidesNothingThatWasSaidBefore(t *testing.T) {
	t.Parallel()
	s := stand(t, t.TempDir(), memtest.New(memtest.Every))
	ann, eve := personKey(t, 1), personKey(t, 2)
	stream, err := s.engine().Stream(t.Context(), "INBOUND")
	if err != nil {
		t.Fatal(err)
	}
	first := s.publish(ann, ann)
	second := s.publish(ann, ann)
	s.publish(ann, eve)
	last := s.publish(ann, ann)
	s.publish(eve, eve)
	for _, c := range []struct{ deleted, after, want uint64 }{
		{0, 0, last}, {last, 0, second}, {0, first, second}, {0, second, 0}, {second, 0, first}, {0, first, 0}, {first, 0, 0},
	} {
		if c.deleted > 0 {
			if err := stream.DeleteMsg(t.Context(), c.deleted); err != nil {
				t.Fatal(err)
			}
		}
		u, err := newestUnseen(t.Context(), s.log, ann.Token(), c.after, last)
		if err != nil || u.seq != c.want || c.want > 0 && (u.key != ann || u.token != ann.Token()) {
			t.Errorf("behind %d, without %d: %+v, %v; want place %d", c.after, c.deleted, u, err, c.want)
		}
	}
}

// A store that forgot a sub-agent cannot note that there is a message for it.
func TestAMessageForASubagentThatTheStoreForgotHoldsUpNoStart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open func(t *testing.T) sessions.Store) {
		s := stand(t, t.TempDir(), open(t))
		ann, ben := personKey(t, 1), personKey(t, 2)
		child, err := ann.Child("main")
		if err != nil {
			t.Fatal(err)
		}
		s.publishAs(strings.Repeat("ab", 16), child.String())
		seq := s.publish(ben, ben)
		s.compare()
		if got := s.touched(ben); got != seq {
			t.Errorf("of Ben's mailbox the store knows up to %d, not %d", got, seq)
		}
	})
}

// mark is what the log keeps in a file beside itself.
type mark struct {
	Generation string `json:"generation"`
	LastSeq    uint64 `json:"last_seq"`
	Store      uint64 `json:"store"`
}

// claims changes the notes of the log in dir, which then also say that its process
// was killed.
func claims(t *testing.T, dir string, change func(m *mark)) {
	t.Helper()
	name := filepath.Join(dir, "mark.json")
	b, err := os.ReadFile(name)
	var m mark
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err == nil {
		change(&m)
		b, err = json.Marshal(m)
	}
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A log may have lost its end before the store saw any of it. Its own notes say how
// far it had come: no place is used twice, and what is gone is counted and said.
func TestPlacesThatTheStoreNeverSawAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	const nobodyKnows = "senders cannot be notified"
	ann, ben := personKey(t, 1), personKey(t, 2)
	for _, c := range []struct {
		name                string
		seen, noted         uint64 // by the store, and by the log itself; it holds three
		told, lost, reaches int
	}{
		{"notes are behind", 3, 1, 0, 0, 3},
		{"only the log knew, and the store is behind", 2, 8, 0, 5, 8},
		{"the store saw some of it", 6, 8, 1, 3, 8}, // whose the sixth was it knows
		{"the store saw more", 8, 6, 1, 1, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, open func(t *testing.T) sessions.Store) {
				dir, store := t.TempDir(), open(t)
				s := stand(t, dir, store)
				s.compare()
				for range 3 {
					s.publish(ann, ann)
				}
				s.touch(ann, min(c.seen, 3))
				if c.seen > 3 {
					s.touch(ben, c.seen)
				}
				s.end()
				claims(t, dir, func(m *mark) { m.LastSeq = c.noted })

				s = stand(t, dir, store)
				s.compare()
				if got := s.lost; got != c.lost {
					t.Errorf("%d messages are counted as lost, not %d", got, c.lost)
				}
				s.says(nobodyKnows, c.lost > c.told)
				s.says("message log is missing its newest messages", c.seen > 3)
				if got := s.touched(ann); got != 3 {
					t.Errorf("of Ann's mailbox the store knows up to %d, not 3", got)
				}
				if got, want := s.publish(ann, ann), uint64(c.reaches+1); got != want {
					t.Errorf("the next message stands at %d, not %d", got, want)
				}
				s.end()

				s = stand(t, dir, store)
				s.compare()
				if got := s.lost; got != 0 {
					t.Errorf("the next start counts %d messages as lost again", got)
				}
				s.says("ERROR", false)
			})
		})
	}
}

// What was noted of another log says nothing of this one.
func TestTheNotesOfAnotherLogAreNotHeldAgainstThisOne(t *testing.T) {
	t.Parallel()
	ann := personKey(t, 1)
	onBoth(t, func(t *testing.T, open func(t *testing.T) sessions.Store) {
		dir, store := t.TempDir(), open(t)
		s := stand(t, dir, store)
		s.compare()
		s.publish(ann, ann)
		s.end()
		claims(t, dir, func(m *mark) { m.Generation, m.LastSeq = "another", 1<<40 })
		for start := range 2 {
			s = stand(t, dir, store)
			s.compare()
			s.says("message log truncated or replaced", start == 0)
			if got := s.lost; got != 0 {
				t.Errorf("start %d counts %d messages as lost", start, got)
			}
			if got, want := s.publish(ann, ann), uint64(start+2); got != want {
				t.Errorf("the next message stands at %d, not %d", got, want)
			}
			s.end()
		}
	})
}
