package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

func testDeadLetters(t *testing.T, open opener) {
	b := open(t)
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	letters := []DeadLetter{
		{ID: "a", Reason: "undecodable", Channel: "tg", Problem: "bad <update>", Body: json.RawMessage("{ \"b\": \"<&>\" }\n"), At: at},
		{ID: "b\r\n.>*", Reason: "poison", Channel: "tg", Key: "k", Problem: "three times", Body: json.RawMessage("not json"), At: at},
		{ID: "c", Reason: "poison", Channel: "sl", Problem: "p", Body: json.RawMessage(`[1]`), At: at},
	}
	for range 2 {
		for _, l := range letters {
			if err := b.DeadLetter(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	}
	letters[1].Body = json.RawMessage(`"not json"`)
	for i := range letters {
		letters[i].Seq = uint64(i + 1)
	}
	got, err := b.DeadLetters(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(letters, got); d != "" {
		t.Error(d)
	}
	if got, err = b.DeadLetters(t.Context(), 1, 1); err != nil || len(got) != 1 || got[0].ID != letters[1].ID {
		t.Errorf("a page of one: %+v, %v", got, err)
	}
	for range 2 {
		if err := b.DeleteDeadLetter(t.Context(), 2); err != nil {
			t.Error(err)
		}
	}
	if got, err = b.DeadLetters(t.Context(), 1, 10); err != nil || len(got) != 1 || got[0].ID != "c" {
		t.Errorf("after forgetting: %+v, %v", got, err)
	}
	huge := DeadLetter{ID: "huge", Body: make([]byte, b.MaxBody()+maxMeta)}
	if err := b.DeadLetter(t.Context(), huge); !errors.Is(err, ErrTooLarge) {
		t.Errorf("huge: %v", err)
	}
}

// testDeadEvents holds the log to abuse H1: letters of unreadable events, which
// strangers can cause, keep out no letter of an accepted message.
func testDeadEvents(t *testing.T, open opener) {
	b := open(t, func(o *Options) { o.MaxBytes = 4 << 20 }) // 512 KiB of it for dead letters
	body, _ := json.Marshal(strings.Repeat("x", 20<<10))
	letter := func(kind string, i int) DeadLetter {
		return DeadLetter{ID: fmt.Sprint(kind, i), Reason: "unreadable", Body: body, Event: kind == "event"}
	}
	ids := func() (ids []string) {
		ls, err := b.DeadLetters(t.Context(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range ls {
			ids = append(ids, l.ID)
		}
		return ids
	}
	const events = 40
	for i := range events {
		if err := b.DeadLetter(t.Context(), letter("event", i)); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	st, err := b.Stats(t.Context())
	left := ids()
	if err != nil || len(left) == events || left[len(left)-1] != fmt.Sprint("event", events-1) || left[0] != fmt.Sprint("event", events-len(left)) {
		t.Errorf("left are %q, %v", left, err)
	}
	if st.DeadDropped == 0 || st.DeadFull || st.DeadBytes == 0 || int64(st.DeadBytes) > st.DeadMaxBytes {
		t.Errorf("the numbers are %+v", st)
	}
	kept := 0
	for err = nil; err == nil && kept < 2*events; kept++ {
		err = b.DeadLetter(t.Context(), letter("turn", kept))
	}
	kept--
	if !errors.Is(err, ErrFull) || kept < len(left) {
		t.Errorf("%d were kept, then %v", kept, err)
	}
	if err := b.DeadLetter(t.Context(), letter("event", events)); !errors.Is(err, ErrFull) {
		t.Errorf("an event where all must be kept: %v", err)
	}
	for i, id := range ids() {
		if id != fmt.Sprint("turn", i) {
			t.Errorf("place %d has %s", i, id)
		}
	}
	if st, err = b.Stats(t.Context()); err != nil || !st.DeadFull || st.DeadLetters != uint64(kept) {
		t.Errorf("the numbers are %+v, %v", st, err)
	}
	// Room that people make is seen.
	first, err := b.DeadLetters(t.Context(), 0, 1)
	if err != nil || len(first) != 1 {
		t.Fatalf("%v, %v", first, err)
	}
	if err := b.DeleteDeadLetter(t.Context(), first[0].Seq); err != nil {
		t.Fatal(err)
	}
	if err := b.DeadLetter(t.Context(), letter("turn", 1000)); err != nil {
		t.Error(err)
	}
	if st, err = b.Stats(t.Context()); err != nil || st.DeadFull {
		t.Errorf("the numbers are %+v, %v", st, err)
	}
}

func testForeign(t *testing.T, open opener) {
	b := open(t)
	publish(t, b, envelope(1, 0))
	stranger := envelope(2, 0) // in a mailbox that is not its own
	for _, m := range []nats.Msg{
		{Subject: mailboxSubject(token(1)), Data: stranger.encode()},
		{Subject: mailboxSubject(token(1)), Data: []byte("garbage")},
		{Subject: mailboxSubject(token(1)), Data: nil},
		{Subject: "in.v1.x.short", Data: stranger.encode()},
	} {
		if _, err := b.js.PublishMsg(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	last := publish(t, b, envelope(1, 1))
	var seqs []uint64
	for _, e := range mailboxOf(t, b, token(1)) {
		seqs = append(seqs, e.Seq)
	}
	if d := cmp.Diff([]uint64{1, last}, seqs); d != "" {
		t.Errorf("read: %s", d)
	}
	seen := make(chan uint64, 10)
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(_ context.Context, d WakeUp) error { seen <- d.Seq; return nil })
	})
	got := map[uint64]bool{receive(t, seen): true, receive(t, seen): true}
	if !got[1] || !got[last] {
		t.Errorf("delivered %v", got)
	}
	publish(t, b, envelope(1, 2))
	if seq := receive(t, seen); seq != last+1 {
		t.Errorf("delivered %d", seq)
	}
	letters, err := b.DeadLetters(t.Context(), 0, 10)
	if err != nil || len(letters) < 3 || len(letters) > 4 || letters[0].Reason != "foreign" {
		t.Errorf("%d dead letters %+v, %v", len(letters), letters, err)
	}
}

func testSignals(t *testing.T, open opener) {
	b := open(t)
	l, err := b.Listen(t.Context(), "stop.a-b_1")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan Signal, 10)
	background(t, func(ctx context.Context) error { return l.Run(ctx, func(s Signal) { heard <- s }) })
	for i, topic := range []string{"stop", "stop.a-b_1", "stop.a-b_1.more", "other", "stop.a-b_1"} {
		if err := b.Signal(t.Context(), Signal{Topic: topic, Body: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"1", "4"} {
		if s := receive(t, heard); string(s.Body) != want || s.Topic != "stop.a-b_1" {
			t.Errorf("heard %s of %s, want %s", s.Body, s.Topic, want)
		}
	}
	for _, topic := range []string{"", "*", "a.>", "a..b", ".a", "a.", "A", "a b", "a\r\n", strings.Repeat("a", 300)} {
		if err := b.Signal(t.Context(), Signal{Topic: topic}); err == nil {
			t.Errorf("topic %q was taken", topic)
		}
		if _, err := b.Listen(t.Context(), topic); err == nil {
			t.Errorf("topic %q is listened to", topic)
		}
	}
	if err := b.Signal(t.Context(), Signal{Topic: "a", Body: make([]byte, 5<<20)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("huge signal: %v", err)
	}
}

func (l *Listener) isCollecting() bool {
	if l.sub != nil {
		return l.sub.IsValid()
	}
	l.b.board.mu.Lock()
	defer l.b.board.mu.Unlock()
	return slices.Contains(l.b.board.topics[l.topic], l)
}

// V01-V03, TX17
func testSignalDrops(t *testing.T, open opener) {
	b := open(t)
	l, err := b.Listen(t.Context(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	quick, err := b.Listen(t.Context(), "busy") // takes what comes
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan Signal)
	stop := background(t, func(ctx context.Context) error { return quick.Run(ctx, func(s Signal) { heard <- s }) })
	const sent = signalQueue + 10
	for range sent {
		if err := b.Signal(t.Context(), Signal{Topic: "busy"}); err != nil {
			t.Fatal(err)
		}
		receive(t, heard)
	}
	stop() // what is cancelled hears nothing more, and nothing is dropped for it
	if quick.isCollecting() {
		t.Error("a listener that was cancelled still listens")
	}
	// Nobody takes any, so all beyond the queue are dropped, sooner or later.
	for end := time.Now().Add(time.Minute); b.signalDrops.Load() < sent-signalQueue && time.Now().Before(end); {
		runtime.Gosched()
	}
	for range signalQueue {
		receive(t, l.queue)
	}
	stats, err := b.Stats(t.Context())
	if err != nil || stats.SignalDrops != sent-signalQueue {
		t.Errorf("%d dropped, %v", stats.SignalDrops, err)
	}
}

func testStats(t *testing.T, open opener) {
	b := open(t)
	for i := range 3 {
		publish(t, b, envelope(1, i))
	}
	if err := b.DeadLetter(t.Context(), DeadLetter{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	var s Stats
	for s.Pending < 3 { // the consumer hears of each message a moment later
		var err error
		if s, err = b.Stats(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Pending != 3 || s.AckPending != 0 || s.Messages != 3 || s.Bytes == 0 || s.MaxBytes != DefaultMaxBytes || s.DeadLetters != 1 {
		t.Errorf("%+v", s)
	}
}

func testCloseEnds(t *testing.T, open opener) {
	b := open(t)
	ended := make(chan error, 3)
	ready := make(chan struct{}, 1)
	publish(t, b, envelope(1, 0))
	go func() {
		ended <- b.Consume(context.Background(), func(context.Context, WakeUp) error { ready <- struct{}{}; return nil })
	}()
	go func() { ended <- b.Watch(context.Background()) }()
	go func() { ended <- b.Signals(context.Background(), "a", func(Signal) {}) }()
	receive(t, ready)
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := receive(t, ended); !errors.Is(err, ErrClosed) {
			t.Errorf("ended with %v", err)
		}
	}
	if _, err := b.Publish(t.Context(), envelope(1, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("publish: %v", err)
	}
	if _, err := b.Next(t.Context(), token(1), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("next: %v", err)
	}
}
