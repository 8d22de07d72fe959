package ongoing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/gateway/ongoing"
	"parley/sessionkeys"
	"parley/sessions/memtest"
)

// A task is found by its session and call until it is dropped, or may be forgotten by its server.
func TestBook(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := memtest.New(memtest.Every)
	b := ongoing.Book{Store: s, Now: func() time.Time { return now }}
	is := func(when string, id sessionkeys.SessionID, call string, want ongoing.Task) {
		t.Helper()
		got, err := b.Read(ctx, id, call)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", when, err, d)
		}
	}
	write := func(id sessionkeys.SessionID, call string, one ongoing.Task) {
		t.Helper()
		if err := b.Write(ctx, id, call, one); err != nil {
			t.Fatal(err)
		}
	}
	is("before", "s1", "c", ongoing.Task{})
	first := ongoing.Task{Server: "srv", ID: "7", TTL: time.Hour, By: "t1 1 a"}
	write("s1", "c", first)
	is("the first", "s1", "c", first)
	later := ongoing.Task{Server: "srv", ID: "7", Answered: []string{"name"}, TTL: time.Hour, By: "t2 1 b"}
	write("s1", "c", later)
	later.By = first.By
	is("by a later call", "s1", "c", later)
	is("another call", "s1", "d", ongoing.Task{})
	is("another session", "s10", "c", ongoing.Task{})
	other := ongoing.Task{Server: "srv", ID: "8", By: "t3 1 c"}
	write("s10", "c", other)
	if ids, err := ongoing.RecordsOf(ctx, s, "s1", now); err != nil || len(ids) != 1 {
		t.Errorf("records of the session: %v, %v", ids, err)
	}
	write("s1", "d", ongoing.Task{Server: "srv", ID: "1", TTL: 2 * time.Hour, By: "x"})
	replaced := ongoing.Task{Server: "srv", ID: "2", TTL: 2 * time.Hour, By: "y"}
	write("s1", "d", replaced)
	is("another task", "s1", "d", replaced)

	now = now.Add(time.Hour)
	is("after the server may have forgotten it", "s1", "c", ongoing.Task{})
	is("of which the server says nothing", "s10", "c", other)
	for range 2 {
		if err := b.Drop(ctx, "s10", "c"); err != nil {
			t.Fatal(err)
		}
	}
	is("dropped", "s10", "c", ongoing.Task{})
}
