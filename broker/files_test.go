package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"parley/broker/brokertest"
)

// interrupted gives data, and calls cut once, when half of it was given.
func interrupted(data []byte, cut func()) io.Reader {
	first, second := data[:len(data)/2], data[len(data)/2:]
	return io.MultiReader(bytes.NewReader(first), readerFunc(func([]byte) (int, error) { cut(); return 0, io.EOF }), bytes.NewReader(second))
}

func TestFilesGoOnWhenTheServerDies(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir, o.Probe, o.Timeout = t.TempDir(), 50*time.Millisecond, brokertest.Patience })
	background(t, b.Watch)
	kill := func() {
		b.host.mu.Lock()
		srv := b.host.srv
		b.host.mu.Unlock()
		stopServer(srv) // as a fault would; nobody told the broker
	}
	filesOverCut(t, b, kill)
}

func TestFilesGoOnWhenALeaderIsKilled(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 3)
	b := open(t, func(o *Options) { o.URL, o.Replicas, o.Timeout = nodes.URL(), 3, brokertest.Patience })
	put(t, b, "before", nil)
	filesOverCut(t, b, func() {
		leader := nodes.Leader(streamFiles)
		nodes.Kill(leader)
		nodes.Leader(streamFiles)
		nodes.Restart(leader)
		nodes.AwaitHealthy()
	})
}

func filesOverCut(t *testing.T, b *Broker, cut func()) {
	t.Helper()
	data := noise(1, 4*fileChunk)
	if n, err := b.PutFile(t.Context(), "a", interrupted(data, cut), 1<<30); err != nil || n != int64(len(data)) {
		t.Fatalf("put: %d, %v", n, err)
	}
	wantFile(t, b, "a", data)
	f, _, err := b.OpenFile(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if _, err := io.ReadFull(f, got); err != nil {
		t.Fatal(err)
	}
	cut()
	rest, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(append(got, rest...), data) {
		t.Errorf("read: %d bytes, %v", len(rest), err)
	}
}

func TestAServerThatStaysAwayEndsAFileWithAnError(t *testing.T) {
	t.Parallel()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { stopServer(srv) })
	if !srv.ReadyForConnections(brokertest.Patience) {
		t.Fatal("the server does not start")
	}
	b, err := Open(t.Context(), Options{URL: srv.ClientURL(), Timeout: brokertest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) }) // without a server it complains
	put(t, b, "a", noise(1, 2*fileChunk))
	f, _, err := b.OpenFile(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	cut := func() {
		b.o.Timeout = 500 * time.Millisecond
		stopServer(srv)
	}
	if _, err := b.PutFile(t.Context(), "b", interrupted(noise(2, 4*fileChunk), cut), 1<<30); !errors.Is(err, ErrUnavailable) {
		t.Errorf("put: %v", err)
	}
	if n, err := io.Copy(io.Discard, f); !errors.Is(err, ErrUnavailable) {
		t.Errorf("read %d: %v", n, err)
	}
	if _, _, err := b.OpenFile(t.Context(), "a"); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoFile) {
		t.Errorf("open: %v", err)
	}
}

// A process that dies with half of a file put leaves a log that opens as before: the
// files that were put are there, and nothing under the name of the other.
func TestHalfAFileIsNoneAfterSIGKILL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 2 {
		cmd, lines := startChild(t, dir, "file")
		if !lines.Scan() || lines.Text() != "half" {
			t.Fatalf("the child says %q", lines.Text())
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed: always an error
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if r := b.OpenReport(); r.HasLoss() || len(r.Problems) > 0 || r.LastSeq != uint64(2*round+1) {
			t.Errorf("round %d: %+v", round, r)
		}
		wantFile(t, b, "whole", noise(1, fileChunk+5))
		wantNoFile(t, b, "half")
		publish(t, b, envelope(2, round))
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// halfAFile is what the child does.
func halfAFile(b *Broker) error {
	ctx := context.Background()
	e := envelope(1, os.Getpid())
	if _, err := b.Publish(ctx, e); err != nil {
		return err
	}
	if _, err := b.PutFile(ctx, "whole", bytes.NewReader(noise(1, fileChunk+5)), 1<<30); err != nil {
		return err
	}
	_, err := b.PutFile(ctx, "half", interrupted(noise(2, 4*fileChunk), func() {
		fmt.Println("half")
		select {}
	}), 1<<30)
	return err
}

// A bit that flips on the disk costs the file, and nothing else.
func TestAFileThatIsDamagedOnTheDiskIsNeverRead(t *testing.T) {
	t.Parallel()
	for _, fraction := range []int{1000, 2} {
		dir := t.TempDir()
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		publish(t, b, envelope(1, 0))
		put(t, b, "a", noise(1, 3*fileChunk))
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		flip(filepath.Join("jetstream/$G/streams", streamFiles, "msgs", "1.blk"), fraction)(t, dir)
		b = open(t, func(o *Options) { o.Dir = dir })
		if b.OpenReport().HasLoss() {
			t.Errorf("%+v", b.OpenReport())
		}
		if f, _, err := b.OpenFile(t.Context(), "a"); err == nil {
			if n, err := io.Copy(io.Discard, f); err == nil {
				t.Errorf("%d bytes of a damaged file", n)
			}
		}
		if got := mailboxOf(t, b, token(1)); len(got) != 1 {
			t.Errorf("%d messages can be read", len(got))
		}
		put(t, b, "a", noise(1, 3*fileChunk))
		wantFile(t, b, "a", noise(1, 3*fileChunk))
	}
}
