package consents_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/gateway/consents"
	"parley/gateway/records"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/tools/mcp"
)

func TestBook(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := memtest.New(memtest.Every)
	b := &consents.Book{Store: s, Now: func() time.Time { return noon }}
	search := mcp.Definition{Name: "search", Description: "Search.", Schema: []byte(`{"type":"object"}`), Digest: "1"}
	other := search
	other.Digest = "2"
	check := func(server string, want map[string]mcp.Definition) {
		t.Helper()
		got, err := b.Of(t.Context(), server)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v\n-want +got\n%s", err, d)
		}
	}
	check("notes", map[string]mcp.Definition{})
	for _, d := range []mcp.Definition{search, other} {
		if err := b.Give(t.Context(), "notes", d); err != nil {
			t.Fatal(err)
		}
		check("notes", map[string]mcp.Definition{"search": d})
	}
	check("note", map[string]mcp.Definition{}) // whose name begins the same
	if was, err := b.TakeBack(t.Context(), "notes", "search"); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if was, err := b.TakeBack(t.Context(), "notes", "search"); was || err != nil {
		t.Errorf("a second time: %v, %v", was, err)
	}
	check("notes", map[string]mcp.Definition{})

	// What cannot be read is no consent, and hides no other.
	if err := b.Give(t.Context(), "notes", search); err != nil {
		t.Fatal(err)
	}
	for key, body := range map[string]string{"notes/broken": "{", "notes/another": `{"name":"search","digest":"1"}`, "notes/none": `{"name":"none"}`} {
		if _, err := s.WriteRecord(t.Context(), sessions.Record{ID: sessions.RecordID{Kind: "mcp_tool", Key: key}, Revision: sessions.AnyRevision, Body: []byte(body), At: noon}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Of(t.Context(), "notes")
	if !errors.Is(err, records.ErrUnreadable) || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
