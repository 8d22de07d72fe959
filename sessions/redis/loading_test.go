package redis

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"parley/sessions/redis/redistest"
)

// loading answers INFO, the first times, as a server does that reads its files.
type loading struct{ left, asked atomic.Int32 }

func (l *loading) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (l *loading) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (l *loading) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		if text, ok := cmd.(*goredis.StringCmd); ok && cmd.Name() == "info" && l.left.Add(-1) >= 0 {
			l.asked.Add(1)
			text.SetVal(strings.NewReplacer("loading:0", "loading:1", "aof_enabled:1", "aof_enabled:0").Replace(text.Val()))
		}
		return err
	}
}

// While Redis reads its append-only file after a restart it says that it has none.
func TestAServerThatReadsItsFilesIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	s, err := Open(t.Context(), Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	reads := &loading{}
	s.recovery.plain.AddHook(reads)
	reads.left.Store(3)
	if err := s.recovery.reconcile(t.Context()); err != nil || reads.asked.Load() != 3 {
		t.Errorf("%d answers, and %v", reads.asked.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reads.left.Store(1 << 30)
	if err := s.recovery.inspect(ctx); err == nil {
		t.Error("it waits although the caller does not")
	}
}
