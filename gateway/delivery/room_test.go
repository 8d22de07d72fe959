package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessionkeys"
)

// paced is a network that takes only so much in a time: it has room for one message after each
// wait.
type paced struct {
	*net
	r      *fixture
	wait   func() time.Duration
	waited *int // how many waits it has made room for
}

func (p paced) Book(sessionkeys.Address) (time.Duration, func()) {
	p.r.mu.Lock()
	waits := len(p.r.waits)
	p.r.mu.Unlock()
	if waits > *p.waited {
		*p.waited = waits
		return 0, func() {}
	}
	return p.wait(), func() {}
}

func (r *fixture) pacing(wait func() time.Duration) func(*delivery.Options) {
	r.mu.Lock()
	waited := len(r.waits)
	r.mu.Unlock()
	return func(o *delivery.Options) { o.Channels = []channels.Channel{paced{r.net, r, wait, &waited}} }
}

// crowded is a network that takes so many messages at a time, booked or under way, and refuses others.
type crowded struct {
	*net
	room    int
	mu      sync.Mutex
	most    int             // of them at a time
	booked  map[string]bool // by chat
	sending int
	refused int
}

func (c *crowded) isFull() bool { return len(c.booked)+c.sending >= c.room }

func (c *crowded) Book(to sessionkeys.Address) (time.Duration, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isFull() {
		return time.Millisecond, func() {}
	}
	c.booked[to.Peer] = true
	c.most = max(c.most, len(c.booked)+c.sending)
	return 0, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.booked, to.Peer)
	}
}

func (c *crowded) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	c.mu.Lock()
	if !c.booked[r.To.Peer] && c.isFull() {
		c.refused++
		c.mu.Unlock()
		return channels.Receipt{}, kind(channels.RateLimit)
	}
	delete(c.booked, r.To.Peer)
	c.sending++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sending--
	}()
	return c.net.Send(ctx, r)
}

// roomForOne is a network that takes one message at a time, and tells when it takes another.
type roomForOne struct {
	*net
	mu    sync.Mutex
	taken bool
	freed chan struct{}
}

func (r *roomForOne) Book(sessionkeys.Address) (time.Duration, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken {
		return time.Second, func() {}
	}
	r.taken = true
	return 0, sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.taken = false
		r.freed <- struct{}{}
	})
}

// firstday T1. A process that is killed while a part waits for room leaves no doubt.
func TestAPartThatWaitsForRoomIsNotMarkedAsBeingSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var states []string
	wait := func() time.Duration {
		for _, d := range r.pending() {
			s := ""
			for _, p := range d.Parts {
				s += string(p.State) + ","
			}
			states = append(states, s)
		}
		return time.Second
	}
	r.queue("a", "1\n2")
	r.start(r.pacing(wait)).wake()
	r.delivered()
	// Asked before the first, with its receipt, and before the second.
	if want := []string{"", "sending,pending,", "sent,pending,"}; !slices.Equal(states, want) {
		t.Errorf("while waiting stood %q, want %q", states, want)
	}
	if want := []time.Duration{time.Second, time.Second}; !slices.Equal(r.waits, want) {
		t.Errorf("waited %s, want %s", r.waits, want)
	}
	r.wantCalls("send a 1", "send a 2")
}

// firstday T1. When an edit has to wait for long its text is a new message, and
// whatever process is killed then, no edit follows.
func TestAnAnswerGoesBesideItsPreviewAfterALongWait(t *testing.T) {
	t.Parallel()
	limited := kind(channels.RateLimit)
	limited.RetryAfter = 30 * time.Second
	briefly := kind(channels.RateLimit)
	briefly.RetryAfter = 3 * time.Second
	for name, c := range map[string]struct {
		refusal *channels.Error // of the first edit
		wait    time.Duration   // that the channel names before
		calls   []string
	}{
		"the network asks for a long wait": {limited, 0, []string{"send a half", "edit a whole in id1", "send a whole"}},
		"the channel knows of a long wait": {nil, 30 * time.Second, []string{"send a half", "send a whole"}},
		"a short wait":                     {briefly, 3 * time.Second, []string{"send a half", "edit a whole in id1", "edit a whole in id1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.net.script = func(n int, call call) error {
				if call.op == "edit" && n == 1 && c.refusal != nil {
					return c.refusal
				}
				return nil
			}
			p := r.start(r.pacing(func() time.Duration { return c.wait }))
			p.answerAfterHalf()
			r.wantCalls(c.calls...)
		})
	}
}

// firstday T1: the process dies when the new message was taken and not noted; the
// next one repeats it, marked, and edits nothing.
func TestAnAnswerBesideItsPreviewIsNeverGivenTwiceUnmarked(t *testing.T) {
	t.Parallel()
	for die := 1; die <= 6; die++ {
		r := newRig(t)
		wait := func() time.Duration { return time.Minute }
		p := r.start(r.pacing(wait))
		r.begin("a", "t1")
		p.show("a", "t1", "half")
		r.await("a preview", func() bool { return r.counted("first") == 1 })
		p.end()
		r.finish("a", "t1", "whole")
		r.die = die
		p = r.start(r.pacing(wait), func(o *delivery.Options) { o.Grace = time.Millisecond })
		p.wake()
		r.await("the end of a process or of the outbox", func() bool { return len(r.pending()) == 0 || p.store.dead() })
		p.end()
		r.die = 0
		r.start(r.pacing(func() time.Duration { return 0 })).wake()
		r.delivered()
		whole := 0
		for _, c := range r.net.calls {
			if c.text == "whole" && !c.repeat {
				whole++
			}
		}
		if whole > 1 {
			t.Errorf("dead at write %d: %q", die, r.net.log())
		}
	}
}

// However many answers wait, a process that is killed leaves only those in doubt that it sends at
// that moment.
func TestOnlySoManyAnswersStandAsBeingSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const chats, limit = 40, 16
	goOn, calls := make(chan struct{}), make(chan struct{}, chats)
	r.net.script = func(int, call) error {
		calls <- struct{}{}
		<-goOn
		return nil
	}
	for i := range chats {
		r.queue(fmt.Sprint("chat ", i), "hello")
	}
	r.start().wake()
	for range limit {
		<-calls
	}
	sending := 0
	for _, d := range r.pending() {
		if len(d.Parts) > 0 {
			sending++
		}
	}
	if sending != limit || len(calls) > 0 {
		t.Errorf("%d answers stand as being sent, and %d more calls are made; want %d", sending, len(calls), limit)
	}
	close(goOn)
	r.delivered()
	if n := len(r.net.log()); n != chats {
		t.Errorf("%d answers were sent, want %d", n, chats)
	}
}

// Room is booked by who has a place to send, and not by who waits for one: else those with a place
// would be refused, with two commits for each refusal.
func TestManyAnswersAreNotRefusedByTheRoomOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const chats = 100
	goOn := make(chan struct{})
	r.net.script = func(int, call) error {
		<-goOn
		return nil
	}
	for i := range chats {
		r.queue(fmt.Sprint("chat ", i), "hello")
	}
	network := &crowded{net: r.net, room: 5, booked: map[string]bool{}}
	var waits atomic.Int32
	r.start(func(o *delivery.Options) {
		o.Channels = []channels.Channel{network}
		o.Wait = func(ctx context.Context, _ time.Duration) error {
			if waits.Add(1) == 4*chats {
				close(goOn)
			}
			return ctx.Err()
		}
	}).wake()
	r.delivered()
	network.mu.Lock()
	defer network.mu.Unlock()
	if network.refused > 0 || len(r.net.log()) != chats {
		t.Errorf("%d calls were refused, and %d made", network.refused, len(r.net.log()))
	}
}

func TestRoomIsBookedByWhoHasAPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const chats, places = 100, 16
	goOn := make(chan struct{})
	var sends atomic.Int32
	r.net.script = func(int, call) error {
		if sends.Add(1) == places {
			close(goOn)
		}
		<-goOn
		return nil
	}
	for i := range chats {
		r.queue(fmt.Sprint("chat ", i), "hello")
	}
	network := &crowded{net: r.net, room: chats, booked: map[string]bool{}}
	r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{network} }).wake()
	r.delivered()
	network.mu.Lock()
	defer network.mu.Unlock()
	if network.most > places {
		t.Errorf("%d answers had booked room at a time, and there are %d places", network.most, places)
	}
}
