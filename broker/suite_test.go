package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"parley/broker/brokertest"
)

// opener opens a broker on storage of its own; change may alter the options.
type opener func(t *testing.T, change ...func(*Options)) *Broker

func TestEmbedded(t *testing.T) {
	t.Parallel()
	run(t, func(suiteCase) bool { return true }, func(t *testing.T, change ...func(*Options)) *Broker {
		return open(t, append([]func(*Options){func(o *Options) { o.Dir = t.TempDir() }}, change...)...)
	})
}

func TestAtURL(t *testing.T) {
	t.Parallel()
	run(t, func(c suiteCase) bool { return !c.copied }, func(t *testing.T, change ...func(*Options)) *Broker {
		url := natsServer(t)
		return open(t, append([]func(*Options){func(o *Options) { o.URL = url }}, change...)...)
	})
}

func open(t *testing.T, change ...func(*Options)) *Broker {
	t.Helper()
	var o Options
	for _, c := range change {
		c(&o)
	}
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// natsServer is somebody else's server on loopback.
func natsServer(t *testing.T, change ...func(*server.Options)) (url string) {
	t.Helper()
	opts := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), MaxPayload: 2 << 20,
	}
	for _, c := range change {
		c(opts)
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { stopServer(srv) })
	if !srv.ReadyForConnections(brokertest.Patience) {
		t.Fatal("the server does not start")
	}
	return srv.ClientURL()
}

func token(n int) string { return fmt.Sprintf("%032x", n*0x9e3779b9) }

func envelope(n, i int) Envelope {
	return Envelope{
		ID: fmt.Sprintf("event %d/%d", n, i), Token: token(n), Key: fmt.Sprintf("key of %d", n),
		Body: json.RawMessage(fmt.Sprintf(`{"n":%d,"i":%d}`, n, i)),
	}
}

func publish(t *testing.T, b *Broker, e Envelope) uint64 {
	t.Helper()
	seq, err := b.Publish(t.Context(), e)
	if err != nil {
		t.Fatalf("publish %.40q: %v", e.ID, err)
	}
	return seq
}

// mailboxOf reads a mailbox from its beginning.
func mailboxOf(t *testing.T, b *Broker, token string) []Envelope {
	t.Helper()
	var all []Envelope
	var after uint64
	for {
		e, err := b.Next(t.Context(), token, after)
		if errors.Is(err, ErrNone) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
		after = e.Seq
	}
}

// background runs f until the test ends, or stop is called.
func background(t *testing.T, f func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("waited a minute for nothing")
		panic("unreachable")
	}
}

// suiteCase is one thing that every engine promises. One in this process is
// tried with all; of those at a URL a cluster with what copies on several servers
// could break, and one alone with the rest. make test-long tries each with all.
type suiteCase struct {
	name   string
	copied bool // several servers must agree on it
	f      func(t *testing.T, open opener)
}

func run(t *testing.T, here func(suiteCase) bool, open opener) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			oneOf(t, here(c))
			c.f(t, open)
		})
	}
}

// oneOf leaves a case to the other engine at a URL unless it belongs here.
func oneOf(t *testing.T, here bool) {
	t.Helper()
	if !here && os.Getenv("PARLEY_LONG") == "" {
		t.Skip("make test-long: a second copy of a proof, over the other kind of engine at a URL")
	}
}

func cases() []suiteCase {
	return []suiteCase{
		{"messages of a mailbox keep their order beside many writers", true, testOrder},
		{"an id is stored once in a mailbox and once in each other", true, testDedupe},
		{"hostile ids and keys come back as they were", false, testHostile},
		{"what is too large or malformed is refused before it is sent", false, testRefused},
		{"a full log refuses and goes on after pruning", true, testFull},
		{"pruning deletes only what was read and is old", true, testPrune},
		{"a delivery comes again until its handler succeeds", true, testRedelivery},
		{"handlers are bounded and others get what one gives back", true, testHandover},
		{"next returns the first message above a place", true, testNext},
		{"waiting counts above a place", true, testWaiting},
		{"last places of all mailboxes are listed", true, testLastAll},
		{"advance raises the last place and fills no mailbox", true, testAdvance},
		{"a dead letter is kept once and byte for byte", true, testDeadLetters},
		{"a dead letter that must be kept finds room where others give way", true, testDeadEvents},
		{"a message of somebody else reaches no handler and becomes a dead letter", false, testForeign},
		{"facts are kept once, byte for byte and in order", true, testFacts},
		{"a fact that was confirmed is found by whoever reads after", true, testFactsConfirmed},
		{"a fact that several append at a time is one", true, testFactsRepeated},
		{"facts are forgotten when they are old and applied", false, testFactsPruned},
		{"a lease is held by one, and free at once when that one ends", true, testHold},
		{"a lease without a name or a sound time is refused", false, testHoldRefused},
		{"a lease that was lost ends the work", true, testHoldLost},
		{"a lease that nobody renews ends by itself", true, testHoldEnds},
		{"a lost answer loses no lease", true, testHoldAnswersLost},
		{"a process is seen while it attends, and one that is stopped is not missed", true, testPresence},
		{"a signal reaches whoever listens and no other topic", true, testSignals},
		{"a slow listener loses signals, which are counted", false, testSignalDrops},
		{"numbers tell what waits", false, testStats},
		{"a file comes back as it was put, until it is replaced or deleted", true, testFiles},
		{"what cannot be put leaves nothing, and the file that was there", false, testFilesRefused},
		{"putting and reading a file end with their context", false, testFilesCancelled},
		{"no piece of a file waits in memory", false, testFilesBounded},
		{"a damaged file is never taken for a whole one", false, testFilesDamaged},
		{"other tools read and put files", false, testFilesForTools},
		{"closing ends whoever still waits", false, testCloseEnds},
	}
}

func testOrder(t *testing.T, open opener) {
	b := open(t)
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := b.Publish(t.Context(), envelope(n, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n := range writers {
		got := mailboxOf(t, b, token(n))
		if len(got) != each {
			t.Fatalf("mailbox %d has %d messages, want %d", n, len(got), each)
		}
		for i, e := range got {
			want := envelope(n, i)
			want.Seq, want.At = e.Seq, e.At
			if d := cmp.Diff(want, e); d != "" {
				t.Fatal(d)
			}
			if e.At.IsZero() || i > 0 && e.Seq <= got[i-1].Seq {
				t.Fatalf("message %d has place %d, stored %v", i, e.Seq, e.At)
			}
		}
	}
}

func testDedupe(t *testing.T, open opener) {
	b := open(t)
	first := envelope(1, 0)
	other := first
	other.Token = token(2)
	a1, o1 := publish(t, b, first), publish(t, b, other)
	a2, o2 := publish(t, b, first), publish(t, b, other)
	if a1 != a2 || o1 != o2 || a1 == o1 {
		t.Errorf("places %d %d and %d %d", a1, a2, o1, o2)
	}
	for n, last := range map[int]uint64{1: a1, 2: o1} {
		if e, err := b.NextAtLeast(t.Context(), token(n), 0, last); err != nil || e.Seq != last {
			t.Errorf("mailbox %d: %+v, %v", n, e, err)
		}
		if got := mailboxOf(t, b, token(n)); len(got) > 1 {
			t.Errorf("mailbox %d has %d messages", n, len(got))
		}
	}
}

func testHostile(t *testing.T, open opener) {
	b := open(t)
	texts := []string{
		"a\r\nNats-Rollup: all\r\n\r\n", "in.v1.>", "*", "\x00\xff\xfe", "", strings.Repeat("k", maxMeta/2-1),
		`"}{`, "ключ 🔑 \u202e", "agent:main:telegram:1:group:-100:user:5",
	}
	for i, s := range texts {
		e := Envelope{ID: "x" + s, Token: token(i), Key: s, Body: json.RawMessage("{ \"spaces\":  \"<kept>\" }\n")}
		e.Seq = publish(t, b, e)
		got, err := b.Next(t.Context(), e.Token, 0)
		if err != nil {
			t.Fatal(err)
		}
		e.At = got.At
		if d := cmp.Diff(e, got); d != "" {
			t.Errorf("%.40q: %s", s, d)
		}
	}
}

func testRefused(t *testing.T, open opener) {
	b := open(t, func(o *Options) { o.MaxBody = 1000 })
	good := envelope(1, 0)
	cases := []struct {
		name   string
		change func(*Envelope)
		want   error // nil: any
	}{
		{"body one byte over", func(e *Envelope) { e.Body = make([]byte, 1001) }, ErrTooLarge},
		{"huge key", func(e *Envelope) { e.Key = strings.Repeat("k", maxMeta+1) }, ErrTooLarge},
		{"no id", func(e *Envelope) { e.ID = "" }, nil},
		{"wildcard for a token", func(e *Envelope) { e.Token = ">" }, nil},
		{"token in upper case", func(e *Envelope) { e.Token = strings.ToUpper(fmt.Sprintf("%032x", 0xabc)) }, nil},
		{"token with a dot", func(e *Envelope) { e.Token = "." + e.Token[1:] }, nil},
		{"long token", func(e *Envelope) { e.Token += "0" }, nil},
	}
	for _, c := range cases {
		e := good
		c.change(&e)
		if _, err := b.Publish(t.Context(), e); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	good.Body = make([]byte, 1000)
	publish(t, b, good)
	if _, last, err := b.Generation(t.Context()); err != nil || last != 1 {
		t.Errorf("last place %d, %v", last, err)
	}
}
