package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/transcript"
)

// What was deleted stands nowhere in the file any more once the store is closed.
func TestErasedWordsAreOverwritten(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "parley.db")
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	key, err := sessionkeys.For("helper", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: 1, Now: noon}); err != nil {
		t.Fatal(err)
	}
	id := sessionkeys.NewSessionID(noon)
	said := sessions.Restored{Session: id, Token: key.Token(), At: noon}
	for i := range 40 {
		text := fmt.Sprintf("canary-%d %s", i, bytes.Repeat([]byte("canary "), 40*i))
		said.Messages = append(said.Messages, transcript.Message{ID: fmt.Sprint("m", i), Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: text}}, CreatedAt: noon})
	}
	if err := s.Restore(ctx, said); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Erase(ctx, sessions.Erasure{Session: id, At: noon}); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		b, err := os.ReadFile(file)
		if err != nil || bytes.Contains(b, []byte("canary")) {
			t.Errorf("%s holds what was deleted: %v", filepath.Base(file), err)
		}
	}
}
