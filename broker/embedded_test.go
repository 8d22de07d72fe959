package broker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestEverythingGoesOnWhenTheServerDies(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir, o.Probe = t.TempDir(), 50*time.Millisecond })
	seen := make(chan WakeUp, 100)
	heard := make(chan Signal, 100)
	background(t, b.Watch)
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(_ context.Context, d WakeUp) error { seen <- d; return nil })
	})
	l, err := b.Listen(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) error { return l.Run(ctx, func(s Signal) { heard <- s }) })
	for i := range 3 {
		first := publish(t, b, envelope(1, 2*i))
		if d := receive(t, seen); d.Seq != first {
			t.Fatalf("delivered %+v", d)
		}
		b.host.mu.Lock()
		srv := b.host.srv
		b.host.mu.Unlock()
		stopServer(srv) // as a fault would; nobody told the broker
		second := publish(t, b, envelope(1, 2*i+1))
		for d := receive(t, seen); d.Seq != second; d = receive(t, seen) {
			if d.Seq != first { // whose confirmation may have been lost
				t.Fatalf("delivered %+v", d)
			}
		}
		if e, err := b.Next(t.Context(), token(1), first); err != nil || e.Seq != second {
			t.Fatalf("%d, %v", e.Seq, err)
		}
	}
	if err := b.nc.Flush(); err != nil { // the listener's subscription was renewed with the connection
		t.Fatal(err)
	}
	if err := b.Signal(t.Context(), Signal{Topic: "a"}); err != nil {
		t.Fatal(err)
	}
	receive(t, heard)
	s, err := b.Stats(t.Context())
	if err != nil || s.Reopened < 3 {
		t.Errorf("reopened %d times, %v", s.Reopened, err)
	}
}

func TestALogThatIsAnotherOneAfterReopeningIsNotUsed(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir, o.Timeout = t.TempDir(), time.Second })
	publish(t, b, envelope(1, 0))
	if err := b.js.DeleteStream(t.Context(), streamInbound); err != nil {
		t.Fatal(err)
	}
	if err := b.reopen(t.Context()); !errors.Is(err, errLostLog) {
		t.Fatalf("reopen: %v", err)
	}
	if _, err := b.Publish(t.Context(), envelope(1, 1)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("publish: %v", err)
	}
}

func TestALogThatLostItsEndUsesNoPlaceTwice(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	publish(t, b, envelope(1, 0))
	b.noteSeq(7) // confirmed, as if six more had been lost
	if err := b.reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seq := publish(t, b, envelope(1, 1)); seq != 8 {
		t.Errorf("place %d", seq)
	}
}

func TestNothingListensUnlessAsked(t *testing.T) {
	t.Parallel()
	quiet := open(t, func(o *Options) { o.Dir = t.TempDir() })
	if a := quiet.Addr(); a != nil {
		t.Errorf("listens at %v", a)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loud := open(t, func(o *Options) { o.Dir, o.Listen, o.TokenFile = t.TempDir(), "127.0.0.1:0", token })
	url := "nats://" + loud.Addr().String()
	if _, err := nats.Connect(url); err == nil {
		t.Error("connected without the token")
	}
	other := open(t, func(o *Options) { o.URL, o.TokenFile = url, token })
	seq := publish(t, other, envelope(1, 0))
	if e, err := loud.Next(t.Context(), envelope(1, 0).Token, 0); err != nil || e.Seq != seq {
		t.Errorf("%d, %v", e.Seq, err)
	}
}

func TestTheServerSyncsEachMessageUnlessRelaxed(t *testing.T) {
	t.Parallel()
	for _, relaxed := range []time.Duration{0, time.Second} {
		b := open(t, func(o *Options) { o.Dir, o.Relaxed = t.TempDir(), relaxed })
		b.host.mu.Lock()
		cfg := b.host.srv.JetStreamConfig()
		b.host.mu.Unlock()
		if cfg.SyncAlways != (relaxed == 0) || relaxed != 0 && cfg.SyncInterval != relaxed {
			t.Errorf("relaxed %v: %+v", relaxed, cfg)
		}
	}
}

func TestTwoProcessesNeverShareADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, func(o *Options) { o.Dir = dir })
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	open(t, func(o *Options) { o.Dir = dir })
}

func TestALogIsTheSameAfterClosingAndOpening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var first Report
	for i := range 3 {
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		r := b.OpenReport()
		if i == 0 {
			first = r
		}
		if r.HasLoss() || !r.Clean || r.LastSeq != uint64(i) || r.Expected != uint64(i) || r.Generation != first.Generation || len(r.Problems) != 0 {
			t.Errorf("opening %d: %+v", i, r)
		}
		if seq := publish(t, b, envelope(1, i)); seq != uint64(i+1) {
			t.Errorf("place %d", seq)
		}
		if i > 0 { // ids are remembered
			if seq := publish(t, b, envelope(1, 0)); seq != 1 {
				t.Errorf("the first one again: place %d", seq)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestLimitsOfAnExistingLogFollowTheOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, size := range []int64{10 << 20, 1 << 20, 20 << 20} {
		b, err := Open(t.Context(), Options{Dir: dir, MaxBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := b.Stats(t.Context()); err != nil || s.MaxBytes != size {
			t.Errorf("%d, %v", s.MaxBytes, err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// logLines collects what a broker logs.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logLines) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.buf.String(), s)
}

// A process that is being started has copies of all files, until it runs.
func TestADirectoryIsFreeAlthoughAProcessIsBeingStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(b.host.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(inherited) })
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err = Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
