package delivery_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// requirements B25, D07
func TestAPreviewGrowsAndBecomesTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "")
	r.await("typing", func() bool { r.net.mu.Lock(); defer r.net.mu.Unlock(); return len(r.net.calls) == 1 })
	for i, text := range []string{"one", "one two"} {
		p.show("a", "t1", text)
		r.await("a preview", func() bool { return len(r.net.log()) == i+1 })
	}
	r.answer(p, "a", "t1", "one two three\nfour")
	r.wantCalls("send a one", "edit a one two in id1", "edit a one two three in id1", "send a four")
	if got := r.net.chat(); !slices.Equal(got, []string{"one two three", "four"}) {
		t.Errorf("in the chat stands %q", got)
	}
	if r.counted("first") != 1 {
		t.Errorf("the first sign was counted %d times", r.counted("first"))
	}
	// Signals that come late show nothing behind the answer.
	p.show("a", "t1", "one two thr")
	p.show("a", "t1", "")
	r.queue("a", "the end")
	p.wake()
	r.delivered()
	if got := r.net.chat(); len(got) != 3 || got[2] != "the end" {
		t.Errorf("in the chat stands %q", got)
	}
}

// requirements F18, AC03: what a turn does stands below its words, and neither behind its answer
// nor behind its end.
func TestWhatATurnDoesIsGoneWithItsAnswerAndWithItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	r.begin("a", "t1")
	p.does("a", "t1", "", "Reading …")
	r.await("a preview", func() bool { return len(r.net.log()) == 1 })
	p.does("a", "t1", "Let me see.", "Reading …")
	r.await("words", func() bool { return len(r.net.log()) == 2 })
	r.answer(p, "a", "t1", "It is so.")
	if got := r.net.chat(); !slices.Equal(got, []string{"It is so."}) {
		t.Errorf("in the chat stands %q", got)
	}
	r.begin("b", "t2")
	p.does("b", "t2", "", "Reading …")
	r.await("another preview", func() bool { return len(r.net.chat()) == 2 })
	p.over("b", "t2")
	r.await("its end", func() bool { return r.net.chat()[1] == "(stopped)" })
	// What has only words keeps them.
	r.begin("c", "t3")
	p.does("c", "t3", "Half an", "")
	r.await("a third preview", func() bool { return len(r.net.chat()) == 3 })
	p.over("c", "t3")
	r.queue("c", "the end")
	p.wake()
	r.delivered()
	if got := r.net.chat(); !slices.Equal(got[2:], []string{"Half an", "the end"}) {
		t.Errorf("in the chat stands %q", got)
	}
}

func TestTheFirstMessageOfAPreviewHasTheTimeOfAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.slow = 30 * time.Second // as on a network, or a machine, that is overloaded
		p := r.start()
		r.begin("a", "t1")
		p.show("a", "t1", "one")
		r.await("a preview", func() bool { return r.counted("first") == 1 })
		r.net.slow = 0
		r.answer(p, "a", "t1", "one two")
		r.wantCalls("send a one", "edit a one two in id1")
	})
}

// No signal came of the first answer, or its sender gave it back after an error:
// the next turn's preview waits until it stands in the chat. (F8)
func TestAPreviewIsNotShownAboveAnAnswerThatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	r.begin("a", "t1")
	r.finish("a", "t1", "first")
	r.begin("a", "t2")
	p.show("a", "t2", "sec")
	r.delivered()
	if got := r.net.log(); got[0] != "send a first" {
		t.Errorf("before the answer came %q", got)
	}
	p.show("a", "t2", "seco")
	r.await("a preview", func() bool { return strings.Contains(strings.Join(r.net.log(), "\n"), "a seco") })
	r.answer(p, "a", "t2", "second")
	// The first preview waited, or was dropped.
	if got := r.net.log(); got[len(got)-1] != "edit a second in id2" || strings.Count(strings.Join(got, "\n"), "send") != 2 {
		t.Errorf("the network got %q", got)
	}
}

func TestEachPartOfAnAnswerThatMayHaveBeenGivenBeforeIsMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	_, err := r.store.Notice(t.Context(), sessions.InboxID{Channel: "telegram", Event: "e"}, []sessions.Outgoing{
		{ID: "d", Channel: "tg", To: to("a"), Text: "one\ntwo", At: time.Now(), MaybeDuplicate: true},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p.wake()
	r.delivered()
	r.wantCalls("send a one again", "send a two again")
}

func TestPreviewsThatWaitAreOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate, reached := make(chan struct{}), make(chan struct{}, 1)
	r.net.script = func(n int, c call) error {
		if n == 1 && c.op == "send" {
			reached <- struct{}{}
			<-gate
		}
		return nil
	}
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "1")
	<-reached
	for _, text := range []string{"2", "3", "", "4"} {
		p.show("a", "t1", text)
	}
	close(gate)
	r.await("the last", func() bool { return len(r.net.log()) == 2 })
	r.wantCalls("send a 1", "edit a 4 in id1")
	// The answer sweeps away what still waits.
	r.answer(p, "a", "t1", "5")
	r.wantCalls("send a 1", "edit a 4 in id1", "edit a 5 in id1")
}

func TestAfterACrashTheAnswerGoesIntoTheOldPreview(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("a", "t1")
	began := r.start(old)
	began.show("a", "t1", "half")
	r.await("a preview", func() bool {
		d := len(r.net.log()) == 1
		return d && r.counted("first") == 1
	})
	began.end()
	p := r.start()
	p.show("a", "t1", "half again") // would be a second preview
	r.answer(p, "a", "t1", "whole")
	r.wantCalls("send a half", "edit a whole in id1")
}

// old is a process that began before the turn did.
func old(o *delivery.Options) { o.Now = clockBehind(o.Now) }

func TestAnEditIsRepeatedWithoutAMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(n int, c call) error {
		if c.op == "edit" && n == 1 {
			return kind(channels.Ambiguous)
		}
		return nil
	}
	p := r.start()
	p.answerAfterHalf()
	r.wantCalls("send a half", "edit a whole in id1", "edit a whole in id1")
	r.await("it to be counted", func() bool { return r.counted("sent ok") == 1 })
}

func TestWhenThePreviewIsGoneTheAnswerIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.op == "edit" {
			return kind(channels.Refused)
		}
		return nil
	}
	p := r.start()
	p.answerAfterHalf()
	r.wantCalls("send a half", "edit a whole in id1", "send a whole")
}

func TestAPreviewThatMayHaveArrivedIsTheLast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = first(arrives{kind(channels.Ambiguous)})
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "1")
	r.await("a preview", func() bool { return len(r.net.log()) == 1 })
	p.show("a", "t1", "1 2")
	r.answer(p, "a", "t1", "1 2 3")
	r.wantCalls("send a 1", "send a 1 2 3 again")
	r.await("the doubt to be counted", func() bool { return r.counted("sent ambiguous") == 1 })
}

// A preview that was sent may hold the whole answer, and its id is lost with the
// process: before the id is stored, or with the write that stores it.
func TestAfterACrashBetweenAPreviewAndItsIDTheAnswerIsMarked(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]struct {
		write int
		lost  bool
		want  []string
	}{
		"before anything is noted":         {1, false, []string{"send a whole"}},
		"between the note and the preview": {1, true, []string{"send a whole again"}},
		"before the id is noted":           {2, false, []string{"send a whole", "send a whole again"}},
		"after the id is noted":            {2, true, []string{"send a whole", "edit a whole in id1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.die, r.lost = die.write, die.lost
			began := r.start()
			r.begin("a", "t1")
			began.show("a", "t1", "whole")
			r.await("it to die", func() bool {
				began.store.mu.Lock()
				defer began.store.mu.Unlock()
				return began.store.n >= die.write
			})
			began.end()
			r.die, r.lost = 0, false
			r.finish("a", "t1", "whole")
			r.start()
			r.delivered()
			r.wantCalls(die.want...)
			outcome := "sent ok"
			if strings.HasSuffix(die.want[len(die.want)-1], " again") {
				outcome = "sent ambiguous"
			}
			r.await("it to be counted", func() bool { return r.counted(outcome) == 1 })
		})
	}
}

// What a preview left in doubt stays so while the network pauses the answer, and
// when the process dies after the answer, the mark is there again.
func TestTheMarkOfALostPreviewOutlivesAPause(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(n int, c call) error {
		switch {
		case c.op == "send" && n == 1:
			return arrives{kind(channels.Ambiguous)}
		case c.op == "send" && n == 2:
			return kind(channels.RateLimit)
		}
		return nil
	}
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "whole")
	r.await("a preview", func() bool { return len(r.net.log()) == 1 })
	r.answer(p, "a", "t1", "whole")
	r.wantCalls("send a whole", "send a whole again", "send a whole again")
}

func TestAPreviewThatSurelyDidNotArriveLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	for _, k := range []channels.ErrorKind{channels.RateLimit, channels.Unsent, channels.Refused, channels.Unauthorized} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %v", k, crash), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.net.script = first(kind(k))
				p := r.start()
				r.begin("a", "t1")
				p.show("a", "t1", "half")
				r.await("the note to be taken back", func() bool {
					p.store.mu.Lock()
					defer p.store.mu.Unlock()
					return p.store.n == 2
				})
				if crash {
					p.end()
					p = r.start()
				}
				r.answer(p, "a", "t1", "whole")
				r.wantCalls("send a half", "send a whole")
			})
		}
	}
}

func TestANetworkWithoutEditsGetsNoPreviews(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{plain{r.net}} })
	r.begin("a", "t1")
	p.show("a", "t1", "")
	p.show("a", "t1", "half")
	r.answer(p, "a", "t1", "whole")
	r.wantCalls("send a whole")
}

// streamer is a network of which a growing answer must be ended.
type streamer struct{ *net }

func (s streamer) StartStream(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	return s.Send(ctx, r)
}

func (s streamer) UpdateStream(ctx context.Context, to sessionkeys.Address, id string, b channels.Body) error {
	return s.Edit(ctx, to, id, b)
}

func (s streamer) SplitStream(_ context.Context, to sessionkeys.Address, id string, b channels.Body) (bool, error) {
	_, err := s.take(call{op: "break", chat: to.Peer, id: id, text: b.Text})
	return err == nil, err
}

func (s streamer) EndStream(_ context.Context, to sessionkeys.Address, id string) error {
	_, err := s.take(call{op: "end", chat: to.Peer, id: id})
	return err
}

func streams(n *net) func(o *delivery.Options) {
	return func(o *delivery.Options) { o.Channels = []channels.Channel{streamer{n}} }
}

// silence ends the turn without an answer.
func (r *fixture) silence(turn string) {
	r.t.Helper()
	_, err := r.store.Finish(r.t.Context(), r.fence[turn], sessions.FinishTurn{Turn: turn, Outcome: transcript.Canceled, At: time.Now()})
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestAStreamWhoseTurnHasNoAnswerIsEnded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *fixture, p *process) *process{
		"by the process that began it": func(_ *fixture, p *process) *process { return p },
		"by the next one": func(r *fixture, p *process) *process {
			p.end()
			return r.start(streams(r.net))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := r.start(streams(r.net))
			r.begin("a", "t1")
			p.show("a", "t1", "half")
			r.await("a preview", func() bool { return r.counted("first") == 1 })
			p = change(r, p)
			r.silence("t1")
			p.over("a", "t1")
			r.await("its end", func() bool { return len(r.net.log()) == 2 })
			// Signals that come late show nothing any more.
			p.show("a", "t1", "half of it")
			r.queue("a", "Stopped.")
			p.wake()
			r.delivered()
			r.wantCalls("send a half", "end a  in id1", "send a Stopped.")
		})
	}
}

// firstday S6: what is said behind a tool is shown too, in a message of its own, and
// of what was said before nothing is lost.
func TestAStreamOfALaterStepIsAMessageOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start(streams(r.net))
	r.begin("a", "t1")
	calls := 0
	step := func(n int, text, before string, more int) {
		p.heard.send(signals.PreviewTopic, signals.Preview{Turn: "t1", Channel: "tg", To: to("a"), Step: n, Text: text, Before: before, BeforeStep: 1})
		calls += more
		r.await("what is shown of "+text, func() bool { return len(r.net.log()) == calls })
	}
	step(1, "Let me", "", 1)
	step(2, "Found", "Let me look.", 2)
	step(2, "Found it", "Let me look.", 1)
	r.answer(p, "a", "t1", "Found it here.")
	r.wantCalls("send a Let me", "break a Let me look. in id1", "send a Found", "edit a Found it in id2", "edit a Found it here. in id2")
}

// A message that can be written over is: there is one of a turn.
func TestAnEditedPreviewOfALaterStepTakesThePlaceOfTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	r.begin("a", "t1")
	for n, text := range []string{"Let me", "Found"} {
		p.heard.send(signals.PreviewTopic, signals.Preview{Turn: "t1", Channel: "tg", To: to("a"), Step: n + 1, Text: text, Before: "Let me look.", BeforeStep: 1})
		r.await("what is shown of "+text, func() bool { return len(r.net.log()) == n+1 })
	}
	r.wantCalls("send a Let me", "edit a Found in id1")
}

// resting is a network whose sign of work stays.
type resting struct{ streamer }

func (s resting) StopTyping(_ context.Context, to sessionkeys.Address) error {
	_, err := s.take(call{op: "rest", chat: to.Peer})
	return err
}

// firstday S8: a turn that says nothing at all leaves no sign that the bot is at work.
func TestTheSignOfASilentTurnIsTakenAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{resting{streamer{r.net}}} })
	r.begin("a", "t1")
	r.silence("t1")
	p.over("a", "t1")
	r.await("its end", func() bool { return len(r.net.log()) == 1 })
	r.wantCalls("rest a ")
}

// An end that the network puts off is asked for again, some times; one that it
// refuses is not.
func TestAStreamThatCouldNotBeEndedIsEndedLater(t *testing.T) {
	t.Parallel()
	later := &channels.Error{Kind: channels.RateLimit, RetryAfter: time.Nanosecond}
	for name, c := range map[string]struct {
		says func(n int) error
		want int
	}{
		"put off once": {func(n int) error {
			if n == 1 {
				return later
			}
			return nil
		}, 2},
		"put off for ever": {func(int) error { return later }, 6},
		"cut off once": {func(n int) error {
			if n == 1 {
				return kind(channels.Ambiguous)
			}
			return nil
		}, 2},
		"refused": {func(int) error { return kind(channels.Refused) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.net.script = func(n int, call call) error {
				if call.op == "end" {
					return c.says(n)
				}
				return nil
			}
			var minutes atomic.Int64 // that have passed
			p := r.start(streams(r.net), func(o *delivery.Options) {
				o.Now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
			})
			r.begin("a", "t1")
			p.show("a", "t1", "half")
			r.await("a preview", func() bool { return r.counted("first") == 1 })
			r.silence("t1")
			p.over("a", "t1")
			ends := func() (n int) {
				for _, l := range r.net.log() {
					if l == "end a  in id1" {
						n++
					}
				}
				return n
			}
			r.await("its ends", func() bool { minutes.Add(1); p.wake(); return ends() >= c.want })
			for range 3 { // what is due is queued before an answer is
				minutes.Add(1)
				r.queue("a", "on")
				p.wake()
				r.delivered()
			}
			if n := ends(); n != c.want {
				t.Errorf("it was asked for %d times, want %d", n, c.want)
			}
		})
	}
}

func TestTheEndOfATurnIsNotLostBehindItsPreviews(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate, reached := make(chan struct{}), make(chan struct{}, 1)
	r.net.script = func(n int, c call) error {
		if n == 1 && c.op == "send" {
			reached <- struct{}{}
			<-gate
		}
		return nil
	}
	p := r.start(streams(r.net))
	r.begin("a", "t1")
	p.show("a", "t1", "1")
	<-reached
	p.show("a", "t1", "2")
	r.silence("t1")
	p.over("a", "t1")
	p.show("a", "t1", "3") // late
	close(gate)
	r.await("its end", func() bool { return len(r.net.log()) == 2 })
	r.wantCalls("send a 1", "end a  in id1")
}

func TestAStreamWhoseAnswerShowsNothingIsEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start(streams(r.net))
	r.begin("a", "t1")
	p.show("a", "t1", "half")
	r.await("a preview", func() bool { return r.counted("first") == 1 })
	r.answer(p, "a", "t1", "")
	r.wantCalls("send a half", "end a  in id1")
}

// Without a stream there is nothing to end: none began, or nobody knows its id.
func TestTheEndOfATurnWithoutAStreamIsNoCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.text == "half" {
			return arrives{kind(channels.Ambiguous)}
		}
		return nil
	}
	p := r.start(streams(r.net))
	for i, turn := range []string{"t1", "t2"} {
		chat := fmt.Sprint("c", i)
		r.begin(chat, turn)
		if turn == "t1" {
			p.show(chat, turn, "half")
			r.await("a preview", func() bool { return len(r.net.log()) == 1 })
		}
		r.silence(turn)
		p.over(chat, turn)
		r.queue(chat, "Stopped.")
		p.wake()
		r.delivered()
	}
	r.wantCalls("send c0 half", "send c0 Stopped.", "send c1 Stopped.")
}

func clockBehind(now func() time.Time) func() time.Time {
	return func() time.Time { return now().Add(-time.Minute) }
}
