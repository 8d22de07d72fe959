package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/broker/brokertest"
)

// What the broker promises, with each message on three servers. The cases
// come one after another, since they share the servers and the streams' names.
func TestInACluster(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 3)
	js := jetStreamAt(t, nodes.URL())
	clean := func() {
		ctx, cancel := context.WithTimeout(context.Background(), brokertest.Patience)
		defer cancel()
		for name := range js.StreamNames(ctx).Name() {
			err := deleteStream(ctx, js, name)
			for isUnled(err) && ctx.Err() == nil {
				err = deleteStream(ctx, js, name)
			}
			if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Errorf("delete stream %s: %v", name, err)
			}
		}
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			oneOf(t, c.copied)
			t.Cleanup(clean) // after the broker was closed
			c.f(t, func(t *testing.T, change ...func(*Options)) *Broker {
				return open(t, append([]func(*Options){func(o *Options) {
					o.URL, o.Replicas, o.Timeout = nodes.URL(), 3, brokertest.Patience
				}}, change...)...)
			})
		})
	}
}

// deleteStream asks once, for at most the default time.
func deleteStream(ctx context.Context, js jetstream.JetStream, name string) error {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	return js.DeleteStream(ctx, name)
}

// isUnled reports whether err is of servers that have no leader now: they say so, or do
// not answer.
func isUnled(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == 503 || errors.Is(err, context.DeadlineExceeded)
}

func jetStreamAt(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.Timeout(brokertest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(brokertest.Patience))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// An engine that stands still when somebody begins to listen delays that, for
// longer than an attempt takes, and no more.
func TestSignalsAreHeardWhenTheEngineIsThereAgain(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 1)
	var lines logLines
	b := open(t, func(o *Options) { o.URL, o.Timeout, o.Log = nodes.URL(), time.Second, lines.logger() })
	nodes.Pause(0)
	heard := make(chan Signal, 1)
	background(t, func(ctx context.Context) error {
		return b.Signals(ctx, "late", func(s Signal) {
			select {
			case heard <- s:
			default:
			}
		})
	})
	awaitLine(t, &lines, "signal subscription failed")
	nodes.Resume(0)
	for end := time.Now().Add(brokertest.Patience); time.Now().Before(end); {
		_ = b.Signal(t.Context(), Signal{Topic: "late"}) // refused while the connection is made anew
		select {
		case <-heard:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Error("nothing was heard")
}

// awaitLine waits until the broker has logged something.
func awaitLine(t *testing.T, lines *logLines, words string) {
	t.Helper()
	for end := time.Now().Add(brokertest.Patience); !lines.has(words); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never said %q", words)
		}
	}
}

// The server that leads the log is killed again and again while messages are
// published and taken: what was confirmed is there, in its order, and is
// delivered; and it goes on when the others have chosen a leader.
func TestALeaderThatIsKilledCostsTimeAndNothingElse(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 3)
	b := open(t, func(o *Options) { o.URL, o.Replicas, o.Timeout = nodes.URL(), 3, brokertest.Patience })
	var mu sync.Mutex
	delivered := map[uint64]bool{}
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(_ context.Context, d WakeUp) error {
			mu.Lock()
			defer mu.Unlock()
			delivered[d.Seq] = true
			return nil
		})
	})
	tenures, _, _ := holder(t, b, "a", 8*time.Second)
	receive(t, tenures)

	const writers = 4
	ctx, cancel := context.WithCancel(t.Context())
	confirmed := make([][]uint64, writers)
	pauses := make([]time.Duration, writers)
	var writing sync.WaitGroup
	for n := range writers {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				began := time.Now()
				seq, err := b.Publish(t.Context(), envelope(n, i))
				if err != nil {
					t.Errorf("message %d of %d: %v", i, n, err)
					return
				}
				pauses[n] = max(pauses[n], time.Since(began))
				confirmed[n] = append(confirmed[n], seq)
				// Read back at once, perhaps from a server that is behind.
				if e, err := b.NextAtLeast(t.Context(), token(n), seq-1, seq); err != nil || e.Seq != seq {
					t.Errorf("message %d of %d was stored at %d, and is not there: %d, %v", i, n, seq, e.Seq, err)
				}
				sleep(ctx, b.done, 5*time.Millisecond)
			}
		})
	}
	for range 2 {
		leader := nodes.Leader(streamInbound)
		nodes.Kill(leader)
		if nodes.Leader(streamInbound) == leader {
			t.Error("the dead lead")
		}
		nodes.Restart(leader)
		nodes.AwaitHealthy()
	}
	cancel()
	writing.Wait()
	t.Logf("the longest pauses of the writers: %v", pauses)
	total := 0
	for n := range writers {
		var got []uint64
		var after uint64
		for {
			e, err := b.NextAtLeast(t.Context(), token(n), after, confirmed[n][len(confirmed[n])-1])
			if errors.Is(err, ErrNone) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf(`{"n":%d,"i":%d}`, n, len(got)); string(e.Body) != want {
				t.Fatalf("message %d of %d is %s", len(got), n, e.Body)
			}
			got, after = append(got, e.Seq), e.Seq
		}
		if !slices.Equal(got, confirmed[n]) {
			t.Errorf("writer %d: %d messages confirmed, %d there", n, len(confirmed[n]), len(got))
		}
		total += len(got)
	}
	for end := time.Now().Add(brokertest.Patience); ; {
		mu.Lock()
		have := len(delivered)
		mu.Unlock()
		if have == total {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d messages were delivered", have, total)
		}
		sleep(t.Context(), b.done, 10*time.Millisecond)
	}
}

func TestReadsFromAServerThatIsBehindAreNotBelieved(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 3)
	b := open(t, func(o *Options) { o.URL, o.Replicas, o.Timeout = nodes.URL(), 3, brokertest.Patience })
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 100 {
				seq, err := b.Publish(t.Context(), envelope(n, i))
				if err != nil {
					t.Error(err)
					return
				}
				if e, err := b.NextAtLeast(t.Context(), token(n), seq-1, seq); err != nil || e.Seq != seq {
					t.Errorf("place %d: %d, %v", seq, e.Seq, err)
				}
			}
		})
	}
	wg.Wait()
	// The server that holds the reader of all mailboxes may be behind, too.
	for n := range 4 {
		wg.Go(func() {
			for i := range 30 {
				seq, err := b.Publish(t.Context(), envelope(n, 100+i))
				if err != nil {
					t.Error(err)
					return
				}
				last := uint64(0)
				err = b.LastAll(t.Context(), func(tok string, at uint64) bool {
					if tok == token(n) {
						last = at
					}
					return true
				})
				if err != nil || last != seq {
					t.Errorf("the last place of mailbox %d is %d, listed at %d, %v", n, seq, last, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestMoreCopiesThanServersAreRefused(t *testing.T) {
	t.Parallel()
	alone := natsServer(t)
	for _, c := range []struct {
		name, url string
		replicas  int
		want      string
	}{
		{"one server that is no cluster", alone, 3, "broker.replicas"},
		{"three of five", brokertest.Cluster(t, 3).URL(), 5, "broker.replicas"},
	} {
		b, err := Open(t.Context(), Options{URL: c.url, Replicas: c.replicas})
		if err == nil {
			_ = b.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A cluster that has just begun, or one of whose servers begins anew, is waited for.
func TestAServerThatIsNotThereYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	noPeers := func(why string) error {
		return fmt.Errorf("create stream: %w", &jetstream.APIError{Code: 400, ErrorCode: errCodeNoPeers, Description: "no suitable peers for placement" + why})
	}
	if !isTransient(noPeers(", peer offline")) {
		t.Error("a server that is offline is not waited for")
	}
	if isTransient(noPeers("")) || isTransient(noPeers(", insufficient storage")) {
		t.Error("servers that there are not are waited for")
	}
}

// A stream of that name was removed a moment ago.
func TestAServerThatStillRemovesAStreamIsWaitedFor(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("create stream: %w", &jetstream.APIError{Code: 500, ErrorCode: errCodeStore, Description: "error creating store for stream"})
	for url, want := range map[string]bool{"nats://somewhere": true, "": false} {
		b := newBroker(Options{URL: url, Timeout: time.Minute})
		b.link.markUp()
		defer b.link.markDown()
		tries := 0
		got := b.retry(t.Context(), "create stream", func(context.Context) error {
			if tries++; tries < 3 {
				return err
			}
			return nil
		})
		if (got == nil) != want {
			t.Errorf("at %q: %v after %d tries", url, got, tries)
		}
	}
}

func TestStreamsThatAreNotAsTheyMustBeAreMendedOrRefused(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 3)
	js := jetStreamAt(t, nodes.URL())
	o := Options{URL: nodes.URL(), Replicas: 3, Timeout: brokertest.Patience}
	cfg := o.withDefaults().streamConfigs()[0]

	// Fewer copies, a maximum age, and no direct reads: mended.
	less := cfg
	less.Replicas, less.MaxAge, less.AllowDirect, less.Duplicates = 1, time.Hour, false, time.Minute
	if _, err := js.CreateStream(t.Context(), less); err != nil {
		t.Fatal(err)
	}
	b := open(t, func(op *Options) { *op = o })
	publish(t, b, envelope(1, 0))
	s, err := js.Stream(t.Context(), streamInbound)
	if err != nil {
		t.Fatal(err)
	}
	have := s.CachedInfo().Config
	if have.Replicas != 3 || have.MaxAge != 0 || !have.AllowDirect || have.Duplicates != dedupeWindow {
		t.Errorf("the stream has %d replicas, age %s, direct %v, window %s", have.Replicas, have.MaxAge, have.AllowDirect, have.Duplicates)
	}

	// What cannot be mended is said, with what to do.
	for _, c := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   string
	}{
		{"in memory", func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "in memory"},
		{"a work queue", func(c *jetstream.StreamConfig) { c.Retention, c.AllowDirect = jetstream.WorkQueuePolicy, false }, "retention"},
	} {
		url := natsServer(t)
		wrong := Options{}.withDefaults().streamConfigs()[0]
		c.change(&wrong)
		if _, err := jetStreamAt(t, url).CreateStream(t.Context(), wrong); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), Options{URL: url})
		if err == nil {
			_ = b.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), streamInbound) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
