package channeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"

	"parley/channels"
	"parley/sessionkeys"
)

// patience bounds waits for what must happen; no test takes nearly so long.
const patience = 30 * time.Second

var errFull = errors.New("channeltest: not taken")

// run is one Receive in the background.
type run struct {
	t      testing.TB
	events chan channels.Message // in the order of being offered
	stop   func()
}

// startReceive starts ch; decide answers each offer, nil for taking it.
func startReceive(t testing.TB, ch channels.Channel, decide func(m channels.Message) error) *run {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{t: t, events: make(chan channels.Message, 1024)}
	done := make(chan error, 1)
	go func() {
		done <- ch.Receive(ctx, func(_ context.Context, m channels.Message) error {
			r.events <- m
			if decide == nil {
				return nil
			}
			return decide(m)
		})
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Receive returned %v after its context ended, want nil", err)
			}
		case <-time.After(patience):
			t.Error("Receive goes on after its context ended")
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *run) next() channels.Message {
	r.t.Helper()
	select {
	case m := <-r.events:
		return m
	case <-time.After(patience):
		r.t.Fatal("no event came")
		panic("unreachable")
	}
}

// sayUntilOffered lets the person say text and waits until it is offered, passing over what
// is offered again of before. Where the network forgets what it brought to
// somebody who has gone, the person says it again until it is heard.
func (r *run) sayUntilOffered(rig Harness, f Features, text string) {
	r.t.Helper()
	deadline := time.After(patience)
	for pause := 2 * time.Millisecond; ; pause *= 2 {
		rig.Say(r.t, "Ann", text)
		var again <-chan time.Time
		if f.AtMostOnce {
			again = time.After(pause)
		}
		for heard := true; heard; {
			select {
			case m := <-r.events:
				if m.Kind != channels.Said {
					r.t.Fatalf("instead of %q came %+v", text, m)
				}
				if m.Text == text {
					return
				}
			case <-again:
				heard = false
			case <-deadline:
				r.t.Fatalf("%q never came", text)
			}
		}
	}
}

func awaitAcknowledged(t testing.TB, rig Harness, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := rig.AwaitAcknowledged(ctx, n); err != nil {
		t.Fatalf("%d events acknowledged, want %d: %v", rig.Acknowledged(), n, err)
	}
}

func testStartsAndStops(t *testing.T, f Features, open func(testing.TB) Harness) {
	rig := open(t)
	ch := rig.Open(t)
	// The first round lets the network itself start whatever it needs.
	first := startReceive(t, ch, nil)
	rig.Say(t, "Ann", "first")
	first.next()
	first.stop()
	before := goleak.IgnoreCurrent()
	for i := range 50 {
		r := startReceive(t, ch, nil)
		if i%2 == 0 {
			// What was taken just before a stop may be offered again.
			r.sayUntilOffered(rig, f, fmt.Sprintf("message %d", i))
		}
		r.stop()
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func testAckAfterAccept(t *testing.T, rig Harness, f Features) {
	release := make(chan struct{})
	r := startReceive(t, rig.Open(t), func(channels.Message) error {
		<-release
		return nil
	})
	rig.Say(t, "Ann", "hello")
	m := r.next()
	if n := rig.Acknowledged(); n != 0 && !f.AtMostOnce {
		t.Errorf("%d events acknowledged while accept was running", n)
	}
	close(release)
	awaitAcknowledged(t, rig, 1)
	if m.Text != "hello" || m.Kind != channels.Said || !m.Mentioned || m.Event == "" || m.MessageID == "" || m.Sender.ID == "" {
		t.Errorf("event %+v", m)
	}
	if m.Address.Kind != sessionkeys.DM || m.ReceivedAt.IsZero() {
		t.Errorf("event %+v", m)
	}
}

func testRefusedAgain(t *testing.T, rig Harness, f Features) {
	const refusedTimes = 3
	refusals := refusedTimes
	looked, goOn := context.WithCancel(t.Context())
	defer goOn()
	r := startReceive(t, rig.Open(t), func(m channels.Message) error {
		if m.Text != "second" {
			return nil
		}
		if refusals > 0 {
			refusals--
			return errFull
		}
		<-looked.Done() // at what is acknowledged while it is refused
		return nil
	})
	for _, text := range []string{"first", "second", "third"} {
		rig.Say(t, "Ann", text)
		if f.Unordered && text == "first" {
			awaitAcknowledged(t, rig, 1)
		}
	}
	if f.Unordered { // the third may have come before the second
		goOn()
		offers := map[string]int{}
		for range 6 {
			offers[r.next().Text]++
		}
		if offers["first"] != 1 || offers["second"] != 4 || offers["third"] != 1 {
			t.Errorf("offered %v", offers)
		}
		awaitAcknowledged(t, rig, 3)
		return
	}
	for i, want := range []string{"first", "second", "second", "second", "second", "third"} {
		if got := r.next().Text; got != want {
			t.Fatalf("offer %d is %q, want %q", i, got, want)
		}
		if n := rig.Acknowledged(); i >= 1 && i <= 3 && n > 1 && !f.AtMostOnce {
			t.Fatalf("%d events acknowledged although the second was refused", n)
		}
		if i == refusedTimes {
			goOn()
		}
	}
	awaitAcknowledged(t, rig, 3)
}

func testSameID(t *testing.T, rig Harness, f Features) {
	first := startReceive(t, rig.Open(t), func(channels.Message) error { return errFull })
	rig.Say(t, "Ann", "hello")
	a := first.next()
	first.stop()
	if f.AtMostOnce {
		// It is lost, and those after it are not held up.
		startReceive(t, rig.Open(t), func(m channels.Message) error {
			if m.Text == a.Text {
				t.Errorf("an event that was brought before came again: %+v", m)
			}
			return nil
		}).sayUntilOffered(rig, f, "after")
		return
	}
	if n := rig.Acknowledged(); n != 0 {
		t.Fatalf("%d events acknowledged, none was taken", n)
	}
	b := startReceive(t, rig.Open(t), nil).next()
	if a.Event != b.Event || a.Text != b.Text || a.Address != b.Address || a.MessageID != b.MessageID {
		t.Errorf("the event came as\n%+v and again as\n%+v", a, b)
	}
	awaitAcknowledged(t, rig, 1)
}

func testOrder(t *testing.T, rig Harness, f Features) {
	r := startReceive(t, rig.Open(t), nil)
	const n = 50
	seen := map[string]bool{}
	for i := range n {
		rig.Say(t, "Ann", fmt.Sprint(i))
	}
	for i := range n {
		m := r.next()
		if m.Text != fmt.Sprint(i) && !f.Unordered {
			t.Fatalf("event %d is %q", i, m.Text)
		}
		if seen[m.Event] {
			t.Fatalf("event id %s came twice", m.Event)
		}
		seen[m.Event] = true
	}
	awaitAcknowledged(t, rig, n)
}

func testUnreadable(t *testing.T, rig Harness, f Features) {
	r := startReceive(t, rig.Open(t), nil)
	rig.Say(t, "Ann", "before")
	rig.SayUnreadable(t)
	rig.Say(t, "Ann", "after")
	// An event that names no chat stands beside those of one, not among them.
	var said []string
	for range 3 {
		m := r.next()
		if m.Kind != channels.Unreadable {
			said = append(said, m.Text)
			continue
		}
		if m.Event == "" || m.Problem == "" || !json.Valid(m.Raw) || m.Channel == "" {
			t.Errorf("unreadable event came as %+v", m)
		}
		if m.Sender.ID == "" { // abuse H1: who may not talk to the bot leaves nothing behind
			t.Errorf("unreadable event of somebody came without its sender: %+v", m)
		}
	}
	if f.Unordered {
		slices.SortFunc(said, func(a, b string) int { return strings.Compare(b, a) })
	}
	if !slices.Equal(said, []string{"before", "after"}) {
		t.Errorf("beside the unreadable event came %q", said)
	}
	awaitAcknowledged(t, rig, 3)
}

func testEndsWhileRefusing(t *testing.T, rig Harness, f Features) {
	r := startReceive(t, rig.Open(t), func(channels.Message) error { return errFull })
	rig.Say(t, "Ann", "hello")
	r.next()
	r.next()
	r.stop()
	if n := rig.Acknowledged(); n != 0 && !f.AtMostOnce {
		t.Errorf("%d events acknowledged, none was taken", n)
	}
}

func testHostileText(t *testing.T, rig Harness, _ Features) {
	r := startReceive(t, rig.Open(t), nil)
	for _, s := range []string{
		"x:group:y", "agent:a:sub:1:", "*.>", "a\u202Eb", "line\nbreak", "\u200b", "%00", strings.Repeat("ä", 60),
		"👨‍👩‍👧‍👦", "@everyone <!channel>", "{{.}}", "'; DROP TABLE x; --", "\t\v\f",
	} {
		rig.Say(t, s, "text "+s)
		m := r.next()
		if m.Kind != channels.Said {
			t.Errorf("name %q: %+v", s, m)
			continue
		}
		if _, err := sessionkeys.For("main", m.Address); err != nil {
			t.Errorf("name %q: %v", s, err)
		}
		if !utf8.ValidString(m.Sender.Name) || strings.ContainsFunc(m.Sender.Name, unicode.IsControl) || strings.ContainsRune(m.Sender.Name, 0x202E) {
			t.Errorf("name %q is shown as %q", s, m.Sender.Name)
		}
		if !utf8.ValidString(m.Text) || !strings.HasPrefix(m.Text, "text") {
			t.Errorf("text of %q came as %q", s, m.Text)
		}
	}
}
