package signal_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/signal"
	sim "parley/simulators/signal"
)

// firstday G8. Since 0.14.6 the events of a signal-cli that somebody else runs have ids,
// and it keeps the last thousand.
func TestWhatWasSaidWhileParleyDidNotListenComesByTheEventsIDs(t *testing.T) {
	t.Parallel()
	a := newAttached(t, "http")
	dir := shortDir(t)
	kept := func(o *signal.Options) { o.Dir = dir }
	first := take(t, a.open(t, kept), nil)
	a.seen.await(t, "it is up", func(w *watched) bool { return w.up })
	a.say(t, sim.Chat{}, ann, "first", sim.SayOptions{}) // whose id is the first that is known
	first.next()
	// Cut in the middle of an event.
	a.plan(t, sim.Fault{Trouble: sim.StreamCut, Next: 1})
	for _, text := range []string{"cut", "behind it"} {
		a.say(t, sim.Chat{}, ann, text, sim.SayOptions{})
	}
	if texts := first.texts(2); !slices.Equal(texts, []string{"cut", "behind it"}) {
		t.Errorf("came %q", texts)
	}
	first.stop()
	a.stop()
	a.await(t, "signal-cli finds that nobody listens", func(b sim.Book) bool { return !b.Receiving[number] })
	// Somebody else listens while parley does not run, so that signal-cli receives.
	somebody, leave := context.WithCancel(t.Context())
	defer leave()
	other, err := signal.New(a.options())
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 8)
	gone := make(chan error, 1)
	go func() {
		gone <- other.Receive(somebody, func(_ context.Context, m channels.Message) error { heard <- m.Text; return nil })
	}()
	a.await(t, "somebody listens", func(b sim.Book) bool { return b.Receiving[number] })
	a.say(t, sim.Chat{}, ann, "meanwhile", sim.SayOptions{})
	select {
	case <-heard:
	case <-time.After(patience):
		t.Fatal("who listens hears nothing")
	}
	leave()
	noError(t, <-gone)
	offered := make(chan struct{}, 1)
	second := take(t, a.open(t, kept), func(channels.Message) error {
		select {
		case offered <- struct{}{}:
		default:
		}
		return errors.New("not taken")
	})
	<-offered
	second.stop() // it is not taken, so it comes again
	third := take(t, a.open(t, kept), nil)
	if m := third.next(); m.Text != "meanwhile" {
		t.Errorf("then came %+v", m)
	}
	a.say(t, sim.Chat{}, ann, "after", sim.SayOptions{})
	if m := third.next(); m.Text != "after" {
		t.Errorf("then came %+v", m)
	}
}
