package telegram_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	sim "parley/simulators/telegram"
)

// newPaced is a simulated Telegram that holds the bot to its limits, by a clock
// that it shares with the channels on it. Everybody has spoken there.
func newPaced(t *testing.T) (r *fixture, w *wall, ch *telegram.Channel) {
	t.Helper()
	w = newWall()
	r = newRigWith(t, func(o *sim.Options) { o.Now, o.Pace = w.now, 1 })
	for _, c := range []sim.Chat{sim.PrivateChat(ann), super, forum} {
		r.say(t, c, ann, "hi", sim.SayOptions{})
	}
	return r, w, r.open(t, func(o *telegram.Options) { o.Now, o.Pace = w.now, 0 })
}

// growing is an answer that grows in a chat.
type growing struct {
	t     *testing.T
	ch    *telegram.Channel
	to    channels.Reply
	id    string // of its message; empty: none yet
	shown int    // how often it was shown
}

// grow shows a little more of the answer, if it may be.
func (g *growing) grow(n int) {
	g.t.Helper()
	g.to.Body.Text = fmt.Sprint("word ", n)
	var err error
	if g.id == "" {
		var r channels.Receipt
		r, err = g.ch.StartStream(g.t.Context(), g.to)
		g.id = r.MessageID
	} else {
		err = g.ch.UpdateStream(g.t.Context(), g.to.To, g.id, g.to.Body)
	}
	switch {
	case err == nil:
		g.shown++
	case wrong(err).Kind != channels.RateLimit:
		g.t.Fatal(err)
	}
}

// finish brings the last text as delivery does, and returns how long it waited.
func (g *growing) finish(w *wall, text string) (waited time.Duration) {
	g.t.Helper()
	g.to.Body.Text = text
	for {
		err := g.ch.Edit(g.t.Context(), g.to.To, g.id, g.to.Body)
		if err == nil {
			return waited
		}
		e := wrong(err)
		if e.Kind != channels.RateLimit {
			g.t.Fatal(err)
		}
		waited += e.RetryAfter
		w.advance(e.RetryAfter)
	}
}

// firstday T1. Answers that grow for minutes, in a direct message, in a group and in
// two topics of a forum, while the bot seems to type everywhere.
func TestPace_NothingIsRefusedWhileAnswersGrow(t *testing.T) {
	t.Parallel()
	r, w, ch := newPaced(t)
	var topics []string
	for range 2 {
		id, err := r.CreateTopic(forum, ann, "topic", "")
		if err != nil {
			t.Fatal(err)
		}
		topics = append(topics, decimal(id))
	}
	all := []*growing{
		{t: t, ch: ch, to: to(ann.ID, "", "")},
		{t: t, ch: ch, to: to(super.ID, "", "")},
		{t: t, ch: ch, to: to(forum.ID, topics[0], "")},
		{t: t, ch: ch, to: to(forum.ID, topics[1], "")},
	}
	for n := range 1800 { // three minutes
		for _, g := range all {
			g.grow(n)
			_ = ch.ShowTyping(t.Context(), g.to.To) // what is too much is dropped
		}
		w.advance(100 * time.Millisecond)
	}
	for i, g := range all {
		if g.id == "" {
			t.Errorf("answer %d was never shown", i)
			continue
		}
		if waited := g.finish(w, "the end"); waited > 3*time.Second {
			t.Errorf("the end waits %s in %s", waited, g.to.To.Peer)
		}
	}
	books := r.Books()
	if books.Totals.Refused > 0 {
		t.Errorf("%d calls were refused", books.Totals.Refused)
	}
	for _, g := range all[:2] {
		checkPreviews(t, g, books)
	}
	if n := all[2].shown + all[3].shown; n > 3*14+5 {
		t.Errorf("a forum was shown %d previews in three minutes", n)
	}
}

// checkPreviews holds the messages and edits of a chat to what was promised.
func checkPreviews(t *testing.T, g *growing, b sim.Book) {
	t.Helper()
	if g.shown < 20 {
		t.Errorf("an answer in %s was shown %d times in three minutes", g.to.To.Peer, g.shown)
	}
	apart := 1500 * time.Millisecond
	if g.to.To.Peer[0] == '-' {
		apart = 3 * time.Second
	}
	var at []time.Time
	for _, c := range b.Calls {
		if decimal(c.ChatID) == g.to.To.Peer && (c.Method == "sendMessage" || c.Method == "editMessageText") {
			at = append(at, c.At)
		}
	}
	at = at[:len(at)-1] // the end
	for i := range at {
		if i > 0 && at[i].Sub(at[i-1]) < apart {
			t.Errorf("previews %s apart in %s", at[i].Sub(at[i-1]), g.to.To.Peer)
		}
		if i >= 14 && at[i].Sub(at[i-14]) < time.Minute {
			t.Errorf("15 previews in %s in %s", at[i].Sub(at[i-14]), g.to.To.Peer)
		}
	}
}

// firstday T1. The promise: never in a penalty longer than Telegram's first answer.
func TestPace_NoCallFallsIntoAPenalty(t *testing.T) {
	t.Parallel()
	r, w, ch := newPaced(t)
	g := &growing{t: t, ch: ch, to: to(super.ID, "", "")}
	g.grow(0)
	r.plan(t, sim.Fault{Trouble: sim.TooManyRequests, Method: "editMessageText", Next: 1, RetryAfter: 40})
	for n := range 100 { // ten seconds; the first edit falls at three
		w.advance(100 * time.Millisecond)
		g.grow(n)
		_ = ch.ShowTyping(t.Context(), g.to.To)
	}
	if wait := sendDelay(ch, g.to.To); wait != 33*time.Second {
		t.Errorf("the channel names a wait of %s, want 33s", wait)
	}
	if waited := g.finish(w, "the end"); waited != 33*time.Second {
		t.Errorf("the end waited %s, want 33s", waited)
	}
	if n := r.Totals().Violations; n != 0 {
		t.Errorf("%d calls fell into the penalty", n)
	}
}

// firstday T11. The last text of a long answer often stands there already; Telegram is
// not asked for what its answers have said, and is where they have not.
func TestEdit_ATextThatStandsThereIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(r *fixture, w *wall, g *growing)
		edits  int
	}{
		"it was shown by an edit": {func(_ *fixture, w *wall, g *growing) {
			for range 3 { // the first message of a long answer is full
				w.advance(time.Minute)
				g.grow(2)
			}
		}, 1},
		"another text was shown": {func(_ *fixture, _ *wall, g *growing) { g.grow(3) }, 3},
		"what became of another text is not known": {func(r *fixture, _ *wall, g *growing) {
			r.plan(t, sim.Fault{Trouble: sim.Ambiguous, Method: "editMessageText", Next: 1})
			g.to.Body.Text = "word 3"
			if err := g.ch.UpdateStream(t.Context(), g.to.To, g.id, g.to.Body); wrong(err).Kind != channels.Ambiguous {
				t.Errorf("the preview ended as %v", err)
			}
		}, 3},
		"somebody else may have owned the account": {func(_ *fixture, _ *wall, g *growing) {
			over, stop := context.WithCancel(t.Context())
			stop()
			if err := g.ch.Receive(over, nil); err != nil {
				t.Error(err)
			}
		}, 2},
	} {
		r, w, ch := newPaced(t)
		g := &growing{t: t, ch: ch, to: to(ann.ID, "", "")}
		g.grow(1)
		w.advance(time.Minute)
		g.grow(2)
		w.advance(time.Minute)
		c.before(r, w, g)
		w.advance(time.Minute)
		if waited := g.finish(w, "word 2"); waited != 0 {
			t.Errorf("%s: the end waited %s", name, waited)
		}
		edits, b := 0, r.Books()
		for _, c := range b.Calls {
			if c.Method == "editMessageText" {
				edits++
			}
		}
		if last := b.Messages[len(b.Messages)-1]; edits != c.edits || last.Text() != "word 2" {
			t.Errorf("%s: %d edits, want %d; it reads %q", name, edits, c.edits, last.Text())
		}
	}
}

// A message that Telegram refuses is none, and another may follow at once: the one
// without entities, or outside of the topic.
func TestPace_WhatIsRefusedTakesNoRoom(t *testing.T) {
	t.Parallel()
	r, _, ch := newPaced(t)
	if _, err := ch.Send(t.Context(), to(forum.ID, "77", "hi")); err != nil {
		t.Errorf("outside of a topic that is gone: %v", err)
	}
	if wait := sendDelay(ch, to(forum.ID, "", "").To); wait != time.Second {
		t.Errorf("the next one waits %s, want 1s", wait)
	}
	if n := len(r.Sent()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

// firstday T1. A hundred answers that are ready at once go at the bot's own rate, and
// none of them comes back in vain again and again.
func TestPace_ManyChatsGoOneAfterAnother(t *testing.T) {
	t.Parallel()
	r, w, ch := newPaced(t)
	type chat struct {
		id  int64
		due time.Time
	}
	var waiting []chat
	for i := range int64(100) {
		p := sim.Person{ID: 5000 + i, FirstName: "P"}
		r.say(t, sim.PrivateChat(p), p, "hi", sim.SayOptions{})
		waiting = append(waiting, chat{p.ID, w.now()})
	}
	began, vain := w.now(), 0
	for len(waiting) > 0 {
		slices.SortStableFunc(waiting, func(a, b chat) int { return a.due.Compare(b.due) })
		c := waiting[0]
		waiting = waiting[1:]
		w.advance(max(0, c.due.Sub(w.now())))
		_, err := ch.Send(t.Context(), to(c.id, "", "hi"))
		if err == nil {
			continue
		}
		e := wrong(err)
		if e.Kind != channels.RateLimit {
			t.Fatal(err)
		}
		vain++
		waiting = append(waiting, chat{c.id, w.now().Add(e.RetryAfter)})
	}
	if took := w.now().Sub(began); took < 3*time.Second || took > 5*time.Second {
		t.Errorf("a hundred answers took %s", took)
	}
	if vain > 100 {
		t.Errorf("%d sends found no room", vain)
	}
	if n := r.Totals().Refused; n != 0 {
		t.Errorf("%d calls were refused", n)
	}
}

func TestCheckPace(t *testing.T) {
	t.Parallel()
	for times, ok := range map[int]bool{-1: false, 0: false, 1: true, 1000: true, 1001: false} {
		if err := telegram.CheckPace(times); (err == nil) != ok {
			t.Errorf("a pace of %d: %v", times, err)
		}
	}
}
