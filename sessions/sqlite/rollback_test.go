package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"parley/sessions"
)

func TestAnOlderCopyOfTheFileSaysLessAndIsDistrusted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	if _, err := s.StartGeneration(ctx, "a log"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"sent", "waits"} {
		if _, err := s.Notice(ctx, sessions.InboxID{Channel: "telegram", Event: id}, []sessions.Outgoing{{ID: id, Channel: "tg", Text: id, At: noon}}, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Advance(ctx, "sent", sessions.Progress{Close: true}); err != nil {
		t.Fatal(err)
	}
	probe := func() (ticks uint64) {
		t.Helper()
		if err := s.Probe(ctx); err != nil {
			t.Fatal(err)
		}
		ticks, err := s.Ticks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return ticks
	}
	then := probe()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	now := probe()
	if now <= then {
		t.Fatalf("%d ticks after %d", now, then)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}

	s = openAt(t, path)
	if ticks, err := s.Ticks(ctx); err != nil || ticks != then {
		t.Fatalf("the copy says %d, not %d (%v)", ticks, then, err)
	}
	for range 2 {
		if err := s.Distrust(ctx, 7, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Distrust(ctx, 6, then); err != nil {
		t.Fatal(err)
	}
	if doubt, err := s.AmbiguousThrough(ctx); err != nil || doubt != 7 {
		t.Errorf("what was said up to %d is in doubt (%v)", doubt, err)
	}
	if ticks, err := s.Ticks(ctx); err != nil || ticks != now {
		t.Errorf("it says %d, and will be taken for older again than %d (%v)", ticks, now, err)
	}
	for id, again := range map[string]bool{"sent": false, "waits": true} {
		if d, err := s.Delivery(ctx, id); err != nil || d.MaybeDuplicate != again {
			t.Errorf("the answer %q may be a repeat: %v (%v)", id, d.MaybeDuplicate, err)
		}
	}
	if _, err := s.StartGeneration(ctx, "another log"); err != nil {
		t.Fatal(err)
	}
	if doubt, err := s.AmbiguousThrough(ctx); err != nil || doubt != 0 {
		t.Errorf("of another log what was said up to %d is in doubt (%v)", doubt, err)
	}
}
