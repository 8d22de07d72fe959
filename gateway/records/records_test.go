package records_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/gateway/records"
	"parley/sessions"
	"parley/sessions/memtest"
)

type note struct {
	Text string `json:"text"`
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestRead(t *testing.T) {
	t.Parallel()
	s, id := memtest.New(memtest.Every), sessions.RecordID{Kind: "note", Key: "k"}
	read := func() (note, int64, error) { return records.Read[note](t.Context(), s, id, noon) }
	if v, revision, err := read(); v != (note{}) || revision != 0 || err != nil {
		t.Errorf("of no record: %+v at %d, %v", v, revision, err)
	}
	written, err := records.Write(t.Context(), s, sessions.Record{ID: id, At: noon}, note{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Write(t.Context(), s, sessions.Record{ID: id, At: noon.Add(1)}, note{"b"}); !errors.Is(err, sessions.ErrChanged) {
		t.Errorf("over what is there, as if nothing were: %v", err)
	}
	if v, revision, err := read(); v != (note{"a"}) || revision != written || err != nil {
		t.Errorf("what was written: %+v at %d, %v", v, revision, err)
	}

	// What cannot be read says so, and can be written over.
	r := sessions.Record{ID: id, Revision: written, Owner: "worker", At: noon.Add(1), Body: []byte(`{"text":"b","text":7}`)}
	if written, err = s.WriteRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	v, revision, err := read()
	if v != (note{}) || revision != written || !errors.Is(err, records.ErrUnreadable) || !strings.Contains(err.Error(), "the record note of k") {
		t.Errorf("what cannot be read: %+v at %d, %v", v, revision, err)
	}
	if r, err = records.New(id, revision, note{"c"}, noon.Add(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteRecord(t.Context(), r); err != nil {
		t.Error(err)
	}
	if v, _, err := read(); v != (note{"c"}) || err != nil {
		t.Errorf("what was written over it: %+v, %v", v, err)
	}
}
