package redis

import (
	"errors"
	"testing"

	"parley/sessions/redis/redistest"
)

// TestWhoLostTheLockOfATakeOverWritesNothingMore: it was silent for too long, and
// somebody else does it now.
func TestWhoLostTheLockOfATakeOverWritesNothingMore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, Options{URL: redistest.Start(t, redistest.Options{}).Unhurried()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.recovery.plain.Set(ctx, s.recovery.key("takeover"), "another", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.setLocked(ctx, "me", metaEra, "7"); !errors.Is(err, errLock) {
		t.Errorf("got %v", err)
	}
	if era, err := s.recovery.plain.HGet(ctx, s.recovery.key("meta"), metaEra).Result(); err != nil || era != "0" {
		t.Errorf("the era is %q (%v)", era, err)
	}
	if err := s.setLocked(ctx, "another", metaEra, "7", metaOutbox, "9"); err != nil {
		t.Fatal(err)
	}
	if err := s.setLocked(ctx, "another", metaOutbox, "5"); err != nil {
		t.Fatal(err)
	}
	meta, err := s.recovery.plain.HMGet(ctx, s.recovery.key("meta"), metaEra, metaOutbox).Result()
	if err != nil || meta[0] != "7" || meta[1] != "9" {
		t.Errorf("era and order are %v (%v)", meta, err)
	}
	if left := s.recovery.plain.PTTL(ctx, s.recovery.key("takeover")).Val(); left <= 0 || left > lockFor {
		t.Errorf("the lock holds for %v", left)
	}
}
