package redis

import (
	"context"
	"errors"
	"slices"
	"testing"

	goredis "github.com/redis/go-redis/v9"

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
	info, err := s.recovery.info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*hold{{"me", info["run_id"]}, {"another", "another server"}} {
		if err := s.setLocked(ctx, h, metaEra, "7"); !errors.Is(err, errLock) {
			t.Errorf("%v: got %v", h, err)
		}
		if _, err := s.recovery.tryMarkPassed(ctx, h, 1); !errors.Is(err, errLock) {
			t.Errorf("%v: got %v", h, err)
		}
	}
	if era, err := s.recovery.plain.HGet(ctx, s.recovery.key("meta"), metaEra).Result(); err != nil || era != "0" {
		t.Errorf("the era is %q (%v)", era, err)
	}
	h := &hold{"another", info["run_id"]}
	if err := s.setLocked(ctx, h, metaEra, "7", metaOutbox, "9"); err != nil {
		t.Fatal(err)
	}
	if err := s.setLocked(ctx, h, metaOutbox, "5"); err != nil {
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

// beforeLock is called once, before the lock of who takes over is asked for.
type beforeLock struct{ happen func() }

func (b *beforeLock) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (b *beforeLock) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (b *beforeLock) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if happen := b.happen; cmd.Name() == "set" && slices.Contains(cmd.Args(), any("nx")) && happen != nil {
			b.happen = nil
			happen()
		}
		return next(ctx, cmd)
	}
}

// TestADatabaseThatSomebodyElseMadeWholeIsNotTakenOver: who waited for the lock saw it as it was
// before, and would give the fences of that era a second time.
func TestADatabaseThatSomebodyElseMadeWholeIsNotTakenOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := redistest.Start(t, redistest.Options{})
	var stores []*Store
	for range 2 {
		s, err := Open(ctx, Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, s)
	}
	server.Restart()
	first, second := stores[0], stores[1]
	second.recovery.plain.AddHook(&beforeLock{func() {
		if err := first.makeWhole(ctx); err != nil {
			t.Error(err)
		}
		first.recovery.plain.HIncrBy(ctx, first.recovery.key("meta"), "epochs", 5)
	}})
	if err := second.makeWhole(ctx); err != nil {
		t.Fatal(err)
	}
	meta, err := second.recovery.plain.HMGet(ctx, second.recovery.key("meta"), metaEra, "epochs").Result()
	if err != nil || meta[0] != "1" || meta[1] != "4294967301" || *second.recovery.era.Load() != "1" {
		t.Errorf("era and epochs are %v (%v)", meta, err)
	}
	if n, err := second.recovery.plain.Exists(ctx, second.recovery.key("takeover")).Result(); err != nil || n != 0 {
		t.Errorf("the lock is still there (%v)", err)
	}
}

// openServer opens a store that ends with the test, and reports whether Maintain is to call
// forgot.
func openServer(t *testing.T, server *redistest.Server) (s *Store, owed bool) {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: server.Unhurried()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, len(s.forgot) == 1
}

// TestWhoTookOverAndEndedLeavesItToTheNextToTell: a database that was made whole looks to the
// next process as if nothing had happened, and what is no fact is still missing.
func TestWhoTookOverAndEndedLeavesItToTheNextToTell(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := redistest.Start(t, redistest.Options{})
	if _, owed := openServer(t, server); owed {
		t.Error("a new database has forgotten something")
	}
	server.Restart()
	first, owed := openServer(t, server) // takes the database over
	if err := first.Close(); err != nil || !owed {
		t.Fatal(owed, err)
	}
	second, owed := openServer(t, server)
	if !owed {
		t.Fatal("the next process does not know that the first has told nothing")
	}
	// While it tells, there is another takeover: that one is owed still.
	if err := second.tell(ctx, func(context.Context) error {
		server.Restart()
		return second.makeWhole(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	third, owed := openServer(t, server)
	if !owed {
		t.Fatal("what is owed since the second takeover was deleted with the first")
	}
	ctx, cancel := context.WithCancel(ctx)
	calls := 0
	err := third.Maintain(ctx, func(context.Context) error {
		switch calls++; calls {
		case 1:
			return errors.New("not yet")
		case 2:
			if _, owed := openServer(t, server); !owed {
				t.Error("what failed is not owed any more")
			}
			third.forgot.Send()
			return nil
		}
		cancel()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, owed := openServer(t, server); owed {
		t.Error("what was told is still owed")
	}
}

// longLog is a log whose facts are there already. It counts those that are read.
type longLog struct {
	bodies [][]byte
	read   func()
}

func (l *longLog) Append(_ context.Context, _ string, body []byte) (uint64, error) {
	l.bodies = append(l.bodies, body)
	return uint64(len(l.bodies)), nil
}

func (l *longLog) After(_ context.Context, number uint64, yield func(uint64, []byte) bool) error {
	for n, body := range l.bodies[number:] {
		l.read()
		if !yield(number+uint64(n)+1, body) {
			return nil
		}
	}
	return nil
}

func (l *longLog) Last(context.Context) (uint64, error) { return uint64(len(l.bodies)), nil }

// onRenewal is called when the lock of who takes over is renewed.
type onRenewal func()

func (onRenewal) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (onRenewal) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (renewed onRenewal) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		isRenewal := slices.ContainsFunc(cmd.Args(), func(a any) bool {
			step, ok := a.(*string)
			return ok && *step == "PEXPIRE"
		})
		if err == nil && isRenewal {
			renewed()
		}
		return err
	}
}

// TestTheLockOfATakeOverIsRenewedWhileTheLogIsRead: a log whose reading takes longer than the
// lock holds would else never be read to its end.
func TestTheLockOfATakeOverIsRenewedWhileTheLogIsRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := redistest.Start(t, redistest.Options{})
	since, longest := 0, 0
	log := &longLog{read: func() { since++; longest = max(longest, since) }}
	s, err := Open(ctx, Options{URL: server.Unhurried(), Facts: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	// One fact that holds, and many that are passed over.
	for i := range 2*renewEvery + 100 {
		f := fact{Script: factVoid}
		if i == 0 {
			f = fact{Set: &changes{}}
		}
		body, err := f.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(ctx, "", body); err != nil {
			t.Fatal(err)
		}
	}
	server.Restart()
	since, longest = 0, 0
	s.recovery.plain.AddHook(onRenewal(func() { since = 0 }))
	if err := s.makeWhole(ctx); err != nil {
		t.Fatal(err)
	}
	if longest > renewEvery+1 { // with the first fact, at which the log is checked
		t.Errorf("%d facts were read without a renewal", longest)
	}
	if mark, err := s.Applied(ctx); err != nil || mark != uint64(len(log.bodies)) {
		t.Errorf("applied %d of %d facts (%v)", mark, len(log.bodies), err)
	}
}
