package delivery_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"parley/channels"
	"parley/sessions"
)

func gone() error { return &channels.Error{Kind: channels.Gone, Op: "send"} }

func movedTo(id string) error {
	return &channels.Error{Kind: channels.Moved, Op: "send", MovedTo: id}
}

func of(chat string) sessions.ChatID {
	return sessions.ChatID{Channel: "telegram", Account: "42", Peer: chat}
}

func (r *fixture) whereIs(chat string) sessions.Chat {
	r.t.Helper()
	c, err := r.store.Chat(r.t.Context(), of(chat))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func TestWhatIsQueuedForAClosedChatIsDroppedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.chat == "a" {
			return gone()
		}
		return nil
	}
	for _, text := range []string{"one", "two\nlines", "three"} {
		r.queue("a", text)
	}
	r.queue("b", "else")
	p := r.start()
	p.wake()
	r.delivered()
	r.await("all to be counted", func() bool { return r.counted("sent dropped") == 3 && r.counted("sent ok") == 1 })
	if got := r.net.log(); !slices.Contains(got, "send b else") || len(got) != 2 {
		t.Errorf("the network got %q", got)
	}
	if !r.whereIs("a").Closed || r.whereIs("b").Closed {
		t.Error("the wrong chat is shut")
	}
	// Nothing more is sent there, also by the next process.
	r.queue("a", "four")
	p.wake()
	r.await("the fourth to be dropped", func() bool { return r.counted("sent dropped") == 4 })
	p.end()
	r.queue("a", "five")
	p = r.start()
	p.wake()
	r.await("the fifth to be dropped", func() bool { return r.counted("sent dropped") == 5 })
	p.show("a", "none", "")
	// Until the chat is opened.
	if err := r.store.Reopen(t.Context(), of("a"), time.Now()); err != nil {
		t.Fatal(err)
	}
	r.net.mu.Lock()
	r.net.script = nil
	r.net.mu.Unlock()
	r.queue("a", "six")
	p.wake()
	r.delivered()
	if got := r.net.log(); got[len(got)-1] != "send a six" {
		t.Errorf("the network got %q", got)
	}
	if n := r.counted("sent dropped"); n != 5 {
		t.Errorf("%d were dropped", n)
	}
}

// requirements AH03
func TestAClosedChatStopsWhatRunsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(int, call) error { return gone() }
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "the answer so f")
	r.await("the worker to be told", func() bool {
		p.heard.mu.Lock()
		defer p.heard.mu.Unlock()
		return len(p.heard.sent) == 1
	})
	cs, err := r.store.Controls(t.Context(), r.fence["t1"].Token)
	if err != nil || len(cs) != 1 || cs[0].Kind != sessions.KindShut {
		t.Errorf("%+v, %v", cs, err)
	}
}

// While a send is under way the bot is let in again, which is heard first.
func TestARefusalFromBeforeTheChatWasOpenedFailsOneAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(n int, _ call) error {
		if n > 1 {
			return nil
		}
		_, _, err := r.store.CloseChat(t.Context(), sessions.CloseRequest{ID: "kicked", Chat: of("b"), At: time.Now()})
		_, _, err2 := r.store.CloseChat(t.Context(), sessions.CloseRequest{ID: "kicked", Chat: of("a"), At: time.Now().Add(-time.Hour)})
		return errors.Join(err, err2, r.store.Reopen(t.Context(), of("a"), time.Now().Add(time.Hour)), gone())
	}
	r.start().wake()
	r.queue("a", "one")
	r.delivered()
	r.queue("a", "two")
	r.delivered()
	if r.whereIs("a").Closed {
		t.Error("the chat is shut")
	}
}

func TestAChatThatMovedIsFollowedAtOnceAndForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.chat == "a" {
			return movedTo("b")
		}
		return nil
	}
	r.queue("a", "one\ntwo")
	r.queue("a", "three")
	p := r.start()
	p.wake()
	r.delivered()
	r.wantCalls("send a one", "send b one", "send b two", "send b three")
	p.end()
	r.queue("a", "four")
	r.start().wake()
	r.delivered()
	r.wantCalls("send a one", "send b one", "send b two", "send b three", "send b four")
	if len(r.waits) != 0 {
		t.Errorf("waited %v", r.waits)
	}
	// The question stands in the old group, whose ids mean nothing in the new one.
	for _, c := range r.net.calls {
		if want := map[string]string{"send b four": "q"}[c.String()]; c.chat == "b" && c.replyTo != want {
			t.Errorf("%s answers %q, not %q", c, c.replyTo, want)
		}
	}
}

func TestPreviewsFollowTheChatToo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var seen []string
	r.net.script = func(_ int, c call) error {
		if c.chat == "a" && slices.Contains(seen, "first") {
			return movedTo("b")
		}
		seen = append(seen, "first")
		return nil
	}
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "so")
	r.await("the preview", func() bool { return len(r.net.log()) == 1 })
	p.show("a", "t1", "so far")
	r.await("the preview in the new group", func() bool { return len(r.net.log()) == 3 })
	r.answer(p, "a", "t1", "so far so good")
	r.wantCalls("send a so", "edit a so far in id1", "send b so far", "edit b so far so good in id2")
}
