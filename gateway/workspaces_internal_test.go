package gateway

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"parley/gateway/settings"
	"parley/sessionkeys"
	"parley/sessions"
)

// known is a store that knows some sessions, of one conversation.
type known struct {
	sessions.Store // of which nothing is asked

	all     map[sessionkeys.SessionID]sessions.Session
	current sessionkeys.SessionID
	down    error
}

func (k known) Session(_ context.Context, id sessionkeys.SessionID) (sessions.Session, error) {
	s, ok := k.all[id]
	if !ok {
		return s, sessions.ErrNotFound
	}
	return s, k.down
}

func (k known) Record(_ context.Context, id sessions.RecordID, _ time.Time) (sessions.Record, error) {
	if id != sessions.ErasedRecord("erased") {
		return sessions.Record{}, sessions.ErrNotFound
	}
	return sessions.Record{ID: id}, nil
}

func (k known) Mailbox(context.Context, string) (sessions.Mailbox, error) {
	return sessions.Mailbox{Session: k.current}, nil
}

// abuse H3: what nobody can read any more does not fill the disk for ever.
func TestWorkspacesOfEndedConversationsAreDeleted(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	old, young := now.Add(-31*24*time.Hour), now.Add(-29*24*time.Hour)
	store := known{current: "current", all: map[sessionkeys.SessionID]sessions.Session{
		"current": {UpdatedAt: old}, "ended": {UpdatedAt: old}, "young": {UpdatedAt: young}, "child": {UpdatedAt: old, Parent: "current"},
		"erased": {UpdatedAt: now, Root: "erased"},
	}}
	w := newWorkspaces(
		settings.Config{StateDir: t.TempDir(), Workspaces: settings.WorkspacesConfig{}.Defaults()},
		Options{Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)},
	)
	left := func() (names []string) {
		es, err := os.ReadDir(w.path(""))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			names = append(names, e.Name())
		}
		return names
	}
	if n, err := w.sweepEnded(t.Context(), store); n != 0 || err != nil {
		t.Errorf("without any: %d, %v", n, err)
	}
	for _, id := range []sessionkeys.SessionID{"current", "ended", "young", "child", "nobody's", "erased"} {
		dir, err := w.make(id)
		if err == nil {
			err = os.WriteFile(dir+"/notes.txt", nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store.down = errors.New("down")
	if n, err := w.sweepEnded(t.Context(), store); n != 0 || err == nil || len(left()) != 6 {
		t.Errorf("without the store: %d, %v", n, err)
	}
	store.down = nil
	if n, err := w.sweepEnded(t.Context(), store); n != 2 || err != nil || !slices.Equal(left(), []string{"child", "current", "nobody's", "young"}) {
		t.Errorf("%d, %v; there lie %q", n, err, left())
	}
}
