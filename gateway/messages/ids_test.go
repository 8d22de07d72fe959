package messages_test

import (
	"testing"

	"parley/gateway/messages"
)

func FuzzID(f *testing.F) {
	for _, seed := range []string{"", "t-1", "n-1", "n-n-1", "s-", "lost-t-1", "redelivered-0123", "restored-t", "n", "note-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := messages.ParseID(text); ok && id.String() != text {
			t.Errorf("%q is read as %+v, which is %q", text, id, id)
		}
		for _, kind := range []messages.IDKind{messages.Note, messages.Stopped, messages.Lost, messages.Redelivered, messages.Restored} {
			id := messages.ID{Kind: kind, About: text}
			if got, ok := messages.ParseID(id.String()); !ok || got != id {
				t.Errorf("%+v is %q, which is read as %+v, %v", id, id, got, ok)
			}
		}
	})
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "n", "t-1", "-1", "N-1", "6528ee7584502ad1"} {
		if id, ok := messages.ParseID(text); ok {
			t.Errorf("the answer of a turn, %q, is taken for %+v", text, id)
		}
	}
}
