package delivery_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessionkeys"
	"parley/sessions"
)

// finder is a network that can be asked.
type finder struct {
	*net
	find func(n int, id string) (channels.Receipt, bool, error)
	n    int
}

func (f *finder) Find(_ context.Context, _ sessionkeys.Address, id string, _ time.Time) (channels.Receipt, bool, error) {
	f.n++
	return f.find(f.n, id)
}

// An ending process does not wait for the network to settle, in a period that is
// for what can be sent in it: the next one asks.
func TestTheWaitBeforeANetworkIsAskedEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = first(arrives{kind(channels.Ambiguous)})
	f := &finder{net: r.net, find: func(int, string) (channels.Receipt, bool, error) {
		return channels.Receipt{MessageID: "id1"}, true, nil
	}}
	waiting := make(chan struct{}, 2)
	p := r.start(func(o *delivery.Options) {
		o.Channels, o.Grace = []channels.Channel{f}, time.Hour
		o.Wait = func(ctx context.Context, _ time.Duration) error {
			waiting <- struct{}{}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(patience):
				t.Error("it still waits, though the process ends")
				return nil
			}
		}
	})
	id := r.queue("a", "x")
	r.queue("a", "y")
	p.wake()
	<-waiting
	p.end()
	r.wantCalls("send a x")
	if d, err := r.store.Delivery(t.Context(), id); err != nil || d.Parts[0].State != sessions.Ambiguous || f.n != 0 {
		t.Errorf("it was left as %+v, %v; asked %d times", d.Parts, err, f.n)
	}
	r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{f} })
	r.delivered()
	r.wantCalls("send a x", "send a y")
}

// What another process was sending, or had in doubt, it may send still when the network does not know
// of it yet: what follows says that it may be a repeat.
func TestAnAnswerThatAnotherProcessMaySendStillIsRepeatedWithAMark(t *testing.T) {
	t.Parallel()
	for name, states := range map[string][]sessions.SendState{
		"it was sending":      {sessions.Queued, sessions.Sending},
		"it was not sure":     {sessions.Queued, sessions.Sending, sessions.Ambiguous},
		"it was to repeat it": {sessions.Queued, sessions.Sending, sessions.Ambiguous, sessions.Sending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.net.script = first(kind(channels.Ambiguous)) // a doubt of this process takes nothing back
			id := r.queue("a", "x")
			begin := sessions.Progress{Bodies: [][]byte{[]byte(`{"text":"x"}`)}}
			for i := range states[1:] {
				begin.Marks = append(begin.Marks, sessions.Mark{From: states[i], To: states[i+1], At: time.Now(), By: "another process"})
			}
			if err := r.store.Advance(t.Context(), id, begin); err != nil {
				t.Fatal(err)
			}
			f := &finder{net: r.net, find: func(int, string) (channels.Receipt, bool, error) { return channels.Receipt{}, false, nil }}
			r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{f} })
			r.delivered()
			r.wantCalls("send a x again", "send a x again")
		})
	}
}

// F3: a network that can be asked gets no second copy.
func TestANetworkThatCanBeAskedIsAskedBeforeAnAnswerIsRepeated(t *testing.T) {
	t.Parallel()
	const settle = 10 * time.Second
	for name, c := range map[string]struct {
		err    error // of the first send
		find   func(n int, id string) (channels.Receipt, bool, error)
		calls  []string
		waits  []time.Duration
		counts string
	}{
		"it arrived": {
			arrives{kind(channels.Ambiguous)},
			func(int, string) (channels.Receipt, bool, error) {
				return channels.Receipt{MessageID: "id1"}, true, nil
			},
			[]string{"send a x"},
			[]time.Duration{settle},
			"sent ok",
		},
		"it did not": {
			kind(channels.Ambiguous),
			func(int, string) (channels.Receipt, bool, error) { return channels.Receipt{}, false, nil },
			[]string{"send a x", "send a x"},
			[]time.Duration{settle},
			"sent ok",
		},
		"it cannot say": {
			kind(channels.Ambiguous),
			func(int, string) (channels.Receipt, bool, error) {
				return channels.Receipt{}, false, kind(channels.Refused)
			},
			[]string{"send a x", "send a x again"},
			[]time.Duration{settle},
			"sent ambiguous",
		},
		"it says so later": {
			arrives{kind(channels.Ambiguous)},
			func(n int, _ string) (channels.Receipt, bool, error) {
				if n == 1 {
					return channels.Receipt{}, false, &channels.Error{Kind: channels.RateLimit, RetryAfter: 7 * time.Second}
				}
				return channels.Receipt{MessageID: "id1"}, true, nil
			},
			[]string{"send a x"},
			[]time.Duration{settle, 7 * time.Second},
			"sent ok",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.net.script = func(n int, _ call) error {
				if n == 1 {
					return c.err
				}
				return nil
			}
			id := ""
			f := &finder{net: r.net, find: func(n int, asked string) (channels.Receipt, bool, error) {
				if asked != id+"/0" {
					t.Errorf("asked for %q", asked)
				}
				return c.find(n, asked)
			}}
			id = r.queue("a", "x")
			r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{f} }).wake()
			r.delivered()
			r.wantCalls(c.calls...)
			d, err := r.store.Delivery(t.Context(), id)
			if err != nil || d.Parts[0].State != sessions.Sent || d.Parts[0].MessageID == "" {
				t.Errorf("it ended as %+v, %v", d.Parts, err)
			}
			r.mu.Lock()
			waits := slices.Clone(r.waits)
			r.mu.Unlock()
			if !slices.Equal(waits, c.waits) {
				t.Errorf("waited %v", waits)
			}
			r.await(c.counts, func() bool { return r.counted(c.counts) == 1 }) // it is counted behind the receipt
		})
	}
}

// Slack fails on some messages each time that they are sent, and shows none of them.
func TestAMessageOnWhichTheNetworkAlwaysFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.text == "x" {
			return kind(channels.Ambiguous)
		}
		return nil
	}
	f := &finder{net: r.net, find: func(int, string) (channels.Receipt, bool, error) { return channels.Receipt{}, false, nil }}
	r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{f} })
	id := r.queue("a", "x")
	r.queue("a", "y")
	r.delivered()
	if d, err := r.store.Delivery(t.Context(), id); err != nil || d.Parts[0].State != sessions.Failed || d.Parts[0].Reason != sessions.Unconfirmed {
		t.Errorf("it was left as %+v, %v", d.Parts, err)
	}
	if calls := r.net.log(); len(calls) > 12 || calls[len(calls)-1] != "send a y" {
		t.Errorf("the network got %q", calls)
	}
}

// What one person alone may see is in no history, so a network that does not find it says nothing.
func TestADoubtAboutAPrivateMessageIsMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = first(arrives{kind(channels.Ambiguous)})
	f := &finder{net: r.net, find: func(int, string) (channels.Receipt, bool, error) { return channels.Receipt{}, false, nil }}
	r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{f} })
	r.queueAlone("May I?")
	r.delivered()
	r.wantCalls("send a May I?", "send a May I? again")
	if f.n != 0 {
		t.Errorf("the network was asked %d times", f.n)
	}
}
