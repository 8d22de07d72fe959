package delivery_test

import (
	"slices"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/delivery"
)

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
	r.finish("a", "t1", "one two three\nfour")
	p.wake()
	r.delivered()
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
	r.finish("a", "t1", "5")
	p.wake()
	r.delivered()
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
	r.finish("a", "t1", "whole")
	p.wake()
	r.delivered()
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
	r.begin("a", "t1")
	p.show("a", "t1", "half")
	r.await("a preview", func() bool { return r.counted("first") == 1 })
	r.finish("a", "t1", "whole")
	p.wake()
	r.delivered()
	r.wantCalls("send a half", "edit a whole in id1", "edit a whole in id1")
	if r.counted("sent ok") != 1 {
		t.Errorf("counted %v", r.counts)
	}
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
	r.begin("a", "t1")
	p.show("a", "t1", "half")
	r.await("a preview", func() bool { return r.counted("first") == 1 })
	r.finish("a", "t1", "whole")
	p.wake()
	r.delivered()
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
	r.finish("a", "t1", "1 2 3")
	p.wake()
	r.delivered()
	r.wantCalls("send a 1", "send a 1 2 3")
}

func TestANetworkWithoutEditsGetsNoPreviews(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{plain{r.net}} })
	r.begin("a", "t1")
	p.show("a", "t1", "")
	p.show("a", "t1", "half")
	r.finish("a", "t1", "whole")
	p.wake()
	r.delivered()
	r.wantCalls("send a whole")
}

func clockBehind(now func() time.Time) func() time.Time {
	return func() time.Time { return now().Add(-time.Minute) }
}
