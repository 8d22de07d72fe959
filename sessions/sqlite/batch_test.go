package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// together runs ops in one transaction: the writer is held until all of them
// wait.
func together(t *testing.T, s *Store, ops ...func(*tx) error) {
	t.Helper()
	for _, err := range batched(t, s, ops...) {
		if err != nil {
			t.Error(err)
		}
	}
}

// inside is a driver whose operations are part of one transaction.
type inside struct{ x *tx }

func within(x *tx) rules.Operations { return rules.Over(inside{x}) }

func (d inside) Update(_ context.Context, _ sessions.Fence, fn func(*rules.Tx) error) error {
	return d.x.perform(fn)
}

func (d inside) View(_ context.Context, fn func(*rules.Tx) error) error {
	return fn(&rules.Tx{Reader: &writerView{tx: d.x}})
}

func (d inside) Session(_ context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	if err := d.x.flush(); err != nil {
		return sessions.Session{}, err
	}
	return loadSession(d.x, id)
}

// What a write finds by a query includes what others of its transaction changed
// and nobody stored yet.
func TestWritesOfOneTransactionSeeEachOther(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "parley.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	ann := sessions.Worker{Name: "ann", Nonce: "ann-1"}
	key, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Heartbeat(t.Context(), ann, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	touchIt := func(x *tx) error {
		_, _, err := within(x).Touch(t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, Now: now})
		return err
	}
	var found []sessions.Mailbox
	recoverIt := func(x *tx) (err error) {
		found, err = within(x).Recover(t.Context(), ann, now, 10)
		return err
	}
	together(t, s, touchIt, recoverIt)
	if len(found) != 1 || found[0].Owner != ann || found[0].LastSeen != 1 {
		t.Fatalf("recovered %+v", found)
	}

	f, root := found[0].Fence(), found[0].Session
	childKey, err := key.Child("helper")
	if err != nil {
		t.Fatal(err)
	}
	child := sessions.Session{ID: sessionkeys.ChildID(root, "t", 1, "c"), Key: childKey, Parent: root, CreatedAt: now}
	var again sessions.Session
	spawnIt := func(x *tx) (err error) {
		again, _, err = within(x).Spawn(t.Context(), f, child)
		return err
	}
	reserveIt := func(x *tx) error {
		return within(x).Reserve(t.Context(), f, sessions.Charge{Session: child.ID, Turn: "t"}, costs.Reservation{ID: "r", At: now, Estimate: costs.Estimate{Upper: 7}})
	}
	together(t, s, spawnIt, reserveIt, spawnIt)
	if again.Held != 7 {
		t.Errorf("a child that holds 7 was found holding %d", again.Held)
	}
	var lost int
	start := func(x *tx) (err error) {
		lost, err = startGeneration(x, "g")
		return err
	}
	touchMore := func(x *tx) error {
		_, _, err := within(x).Touch(t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 5, Now: now})
		return err
	}
	skipAll := func(x *tx) error { return within(x).Skip(t.Context(), f, 5) }
	together(t, s, touchMore, skipAll, start)
	if m, err := s.Mailbox(t.Context(), key.Token()); err != nil || lost != 0 || m.LastSeen != 0 || m.LastRead != 0 {
		t.Errorf("%d mailboxes lost, %+v, %v", lost, m, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
