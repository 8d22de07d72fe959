package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/broker/brokertest"
)

// The test binary is its own child, see TestMain: childDo says what it does.
const (
	childDir = "BROKER_TEST_CHILD_DIR"
	childDo  = "BROKER_TEST_CHILD_DO"
)

func child(dir string) error {
	b, err := Open(context.Background(), Options{Dir: dir, Probe: 200 * time.Millisecond, Timeout: brokertest.Patience})
	if err != nil {
		return err
	}
	switch os.Getenv(childDo) {
	case "full":
		return fillAndFree(b)
	case "file":
		return halfAFile(b)
	}
	return publishUntilKilled(b)
}

func publishUntilKilled(b *Broker) error {
	errs := make(chan error)
	for n := range 8 {
		go func() {
			for i := 0; ; i++ {
				e := envelope(n, i)
				e.ID = fmt.Sprintf("%d %s", os.Getpid(), e.ID)
				seq, err := b.Publish(context.Background(), e)
				if err != nil {
					errs <- err
					return
				}
				fmt.Printf("%d %s\n", seq, e.Token)
			}
		}()
	}
	return <-errs
}

func startChild(t *testing.T, dir, do string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) // itself
	cmd.Env = append(os.Environ(), childDir+"="+dir, childDo+"="+do)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestWhatWasConfirmedSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	confirmed := map[uint64]string{}
	for round := range 3 {
		cmd, lines := startChild(t, dir, "publish")
		for n := 0; lines.Scan(); n++ {
			var seq uint64
			var tok string
			if _, err := fmt.Sscanf(lines.Text(), "%d %s", &seq, &tok); err != nil || !isToken(tok) {
				continue // the line that the kill cut
			}
			if confirmed[seq] != "" {
				t.Errorf("place %d was given out twice", seq)
			}
			confirmed[seq] = tok
			if n == 150 {
				_ = cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the child ended by itself")
		}
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		r := b.OpenReport()
		if r.HasLoss() || r.Clean || len(r.Problems) != 0 {
			t.Errorf("round %d: %+v", round, r)
		}
		for seq, tok := range confirmed {
			if e, err := b.Next(t.Context(), tok, seq-1); err != nil || e.Seq != seq {
				t.Fatalf("round %d: place %d of %s is lost: %d, %v", round, seq, tok, e.Seq, err)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(confirmed) < 450 {
		t.Errorf("only %d confirmed", len(confirmed))
	}
}

// fillAndFree meets a disk that takes no more, waits until the watchdog has
// noticed, frees it, and goes on. It tells each step.
func fillAndFree(b *Broker) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { _ = b.Watch(ctx) })
	seen := make(chan uint64, 10_000)
	wg.Go(func() {
		_ = b.Consume(ctx, func(_ context.Context, d WakeUp) error { seen <- d.Seq; return nil })
	})
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	full := limit
	full.Cur = 300 << 10 // no file grows beyond that
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	var stored []uint64
	put := func(ctx context.Context, i int) error {
		e := envelope(1, i)
		e.Body = json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
		seq, err := b.Publish(ctx, e)
		if err == nil {
			stored = append(stored, seq)
		}
		return err
	}
	i := 0
	for ; ; i++ {
		well, stop := whileWell(ctx, b)
		err := put(well, i)
		noticed := well.Err() != nil
		stop()
		if err == nil {
			continue
		}
		if !noticed {
			return fmt.Errorf("refused before it was noticed: %w", err)
		}
		fmt.Println("noticed, and refused after", len(stored))
		break
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	began := time.Now()
	for range 20 { // the refused one first, with its id
		if err := put(ctx, i); err != nil {
			return err
		}
		i++
	}
	for ok, _ := b.Healthy(); !ok; ok, _ = b.Healthy() {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("healthy again after", time.Since(began).Round(time.Millisecond))
	got := map[uint64]bool{}
	for len(got) < len(stored) {
		got[<-seen] = true
	}
	after := uint64(0)
	for _, seq := range stored {
		e, err := b.Next(ctx, token(1), after)
		if err != nil || e.Seq != seq {
			return fmt.Errorf("want %d, got %d, %w", seq, e.Seq, err)
		}
		after = seq
	}
	fmt.Println("all there")
	cancel()
	wg.Wait()
	return b.Close(context.Background())
}

// whileWell is ctx until b is not healthy.
func whileWell(ctx context.Context, b *Broker) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		for ctx.Err() == nil {
			if ok, _ := b.Healthy(); !ok {
				stop()
			}
			sleep(ctx, b.done, 10*time.Millisecond)
		}
	}()
	return ctx, stop
}

func TestADiskThatTakesNoMoreIsNoticedAndForgivenOnceFreed(t *testing.T) {
	t.Parallel()
	cmd, lines := startChild(t, t.TempDir(), "full")
	var said []string
	for lines.Scan() {
		t.Log(lines.Text())
		said = append(said, strings.Fields(lines.Text())[0])
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(said, " "); got != "noticed, healthy all" {
		t.Error(got)
	}
}
