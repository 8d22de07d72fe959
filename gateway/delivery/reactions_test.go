package delivery_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// reacting is a network that shows reactions, beside its messages.
type reacting struct {
	*net
	says func(nth int, s channels.Stage) error // nil: yes
	held chan struct{}                         // a call waits until it is closed; nil: none waits

	mu   *sync.Mutex
	seen *[]string
}

func newReacting(n *net) reacting {
	return reacting{net: n, mu: &sync.Mutex{}, seen: &[]string{}}
}

func (x reacting) React(ctx context.Context, _ sessionkeys.Address, id string, s channels.Stage) error {
	x.mu.Lock()
	*x.seen = append(*x.seen, id+" "+string(s))
	nth := len(*x.seen)
	x.mu.Unlock()
	x.told()
	if x.held != nil {
		select {
		case <-x.held:
		case <-ctx.Done():
			return &channels.Error{Kind: channels.Ambiguous, Err: ctx.Err()}
		}
	}
	if x.says != nil {
		return x.says(nth, s)
	}
	return nil
}

func (x reacting) log() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(*x.seen)
}

// stage signals how far a turn is with messages of chat a.
func (p *process) stage(s channels.Stage, ids ...string) {
	p.heard.send(signals.ReactionTopic, signals.Reaction{Channel: "tg", To: to("a"), Messages: ids, Stage: s})
}

func over(x reacting) func(*delivery.Options) {
	return func(o *delivery.Options) { o.Channels = []channels.Channel{x} }
}

// firstday A4: no answer waits for a reaction, however long that takes.
func TestAnAnswerDoesNotWaitForAReaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := newReacting(r.net)
	x.held = make(chan struct{})
	p := r.start(over(x))
	p.stage(channels.Working, "m1")
	r.await("a reaction that hangs", func() bool { return len(x.log()) == 1 })
	r.begin("a", "t1")
	r.answer(p, "a", "t1", "the answer")
	r.wantCalls("send a the answer")
	p.stage(channels.Idle, "m1")
	close(x.held)
	r.await("its end", func() bool { return len(x.log()) == 2 })
	if got := x.log(); !slices.Equal(got, []string{"m1 working", "m1 "}) {
		t.Errorf("the network was called for %q", got)
	}
}

// firstday A4: what finds no room is not shown and needs no end; what is shown is ended as
// soon as it can be; what is refused is not asked for again.
func TestReactions(t *testing.T) {
	t.Parallel()
	limit := &channels.Error{Kind: channels.RateLimit, RetryAfter: time.Nanosecond}
	doubt := &channels.Error{Kind: channels.Ambiguous}
	refused := &channels.Error{Kind: channels.Refused}
	first := func(err error) func(int, channels.Stage) error {
		return func(nth int, _ channels.Stage) error {
			if nth == 1 {
				return err
			}
			return nil
		}
	}
	second := func(err error) func(int, channels.Stage) error {
		return func(nth int, _ channels.Stage) error {
			if nth == 2 {
				return err
			}
			return nil
		}
	}
	for name, row := range map[string]struct {
		says func(int, channels.Stage) error
		end  channels.Stage
		want []string
	}{
		"taken":                  {nil, channels.Idle, []string{"m working", "m "}},
		"answered":               {nil, channels.Done, []string{"m working", "m done"}},
		"no room to begin":       {first(limit), channels.Idle, []string{"m working"}},
		"refused":                {first(refused), channels.Idle, []string{"m working"}},
		"begun in doubt":         {first(doubt), channels.Idle, []string{"m working", "m "}},
		"no room to end":         {second(limit), channels.Idle, []string{"m working", "m ", "m "}},
		"ended in doubt":         {second(doubt), channels.Done, []string{"m working", "m done", "m done"}},
		"the end is refused":     {second(refused), channels.Idle, []string{"m working", "m "}},
		"no room, then answered": {first(limit), channels.Done, []string{"m working", "m done"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := newReacting(r.net)
			x.says = row.says
			p := r.start(over(x))
			p.stage(channels.Working, "m")
			r.await("its begin", func() bool { return len(x.log()) == 1 })
			p.stage(row.end, "m")
			// What comes behind shows that nothing more comes of it.
			r.await("its end", func() bool { return len(x.log()) == len(row.want) })
			p.stage(channels.Working, "last")
			r.await("what is last", func() bool { return slices.Contains(x.log(), "last working") })
			if got := x.log(); !slices.Equal(got[:len(got)-1], row.want) {
				t.Errorf("the network was called for %q, want %q", got, row.want)
			}
		})
	}
}

// firstday A4: of a turn that another process began it is not known what its messages show:
// it is taken away.
func TestTheReactionsOfAnotherProcessAreTakenAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := newReacting(r.net)
	p := r.start(over(x))
	p.stage(channels.Idle, "mine") // nothing is there
	p.heard.send(signals.ReactionTopic, signals.Reaction{Channel: "tg", To: to("a"), Messages: []string{"theirs"}, Resumed: true})
	r.await("the end", func() bool { return len(x.log()) == 1 })
	if got := x.log(); !slices.Equal(got, []string{"theirs "}) {
		t.Errorf("the network was called for %q", got)
	}
}

// firstday A4: in a chat that moved, or is shut, the ids name nothing.
func TestNoReactionIsShownInAChatThatMovedOrIsShut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := newReacting(r.net)
	p := r.start(over(x))
	now := time.Now()
	if _, err := r.store.Move(t.Context(), sessions.ChatID{Channel: to("b").Channel, Account: to("b").Account, Peer: "b"}, "b2", now); err != nil {
		t.Fatal(err)
	}
	asked := now.Add(-time.Minute)
	p.heard.send(signals.ReactionTopic, signals.Reaction{Channel: "tg", To: to("b"), Messages: []string{"old"}, Stage: channels.Working, AskedAt: asked})
	p.stage(channels.Working, "last")
	r.await("what is last", func() bool { return len(x.log()) > 0 })
	if got := x.log(); !slices.Equal(got, []string{"last working"}) {
		t.Errorf("the network was called for %q", got)
	}
}

// firstday A4: the sign that a turn works is shown once the network is there, while the turn
// still works.
func TestASignThatDidNotArriveIsShownLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := newReacting(r.net)
	x.says = func(nth int, _ channels.Stage) error {
		if nth == 1 {
			return &channels.Error{Kind: channels.Unsent, Message: "not connected"}
		}
		return nil
	}
	p := r.start(over(x))
	p.stage(channels.Working, "m")
	r.await("the second try", func() bool { return len(x.log()) == 2 })
	p.stage(channels.Idle, "m")
	r.await("its end", func() bool { return len(x.log()) == 3 })
	if got := x.log(); !slices.Equal(got, []string{"m working", "m working", "m "}) {
		t.Errorf("the network was called for %q", got)
	}
}

// firstday A4: what turns ask for before this process sends for the account is shown when it
// does, if they still work.
func TestASignThatIsAskedForBeforeSendingBeginsIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := newReacting(r.net)
	begins := make(chan struct{})
	p := r.run(func(d *delivery.Delivery, ctx context.Context) error {
		var sends sync.WaitGroup
		sends.Go(func() {
			<-begins
			if err := d.Send(ctx, "tg"); err != nil {
				t.Errorf("sending ended with: %v", err)
			}
		})
		defer sends.Wait()
		if err := d.Listen(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	}, over(x))
	p.stage(channels.Working, "over", "on")
	p.stage(channels.Done, "over")
	close(begins)
	r.await("the sign", func() bool { return len(x.log()) > 0 })
	p.stage(channels.Working, "last")
	r.await("what is last", func() bool { return slices.Contains(x.log(), "last working") })
	if got := x.log(); !slices.Equal(got, []string{"on working", "last working"}) {
		t.Errorf("the network was called for %q", got)
	}
}
