package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"parley/sessions"
)

// Chats are looked up for every message, so the common case reads nothing; what
// is known must be known after a restart all the same.
func TestMovedAndShutChatsAreKnownAfterARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	id := sessions.ChatID{Channel: "telegram", Account: "bot", Peer: "a"}
	s := openAt(t, path)
	if _, err := s.Move(t.Context(), id, "b", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	c, err := s.Chat(t.Context(), id)
	if err != nil || c.Current() != "b" {
		t.Fatalf("%+v, %v", c, err)
	}
	path = filepath.Join(t.TempDir(), "parley.db")
	s = openAt(t, path)
	if _, _, err := s.CloseChat(t.Context(), sessions.CloseRequest{ID: "x", Chat: id, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err = openAt(t, path).Chat(t.Context(), id)
	if err != nil || !c.Closed {
		t.Fatalf("%+v, %v", c, err)
	}
}
