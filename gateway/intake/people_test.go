package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/sessions/memtest"
)

// withPeople gives an intake a book of its own, on a store that all who open it share.
func withPeople(in *intake.Intake) *people.Book {
	book := &people.Book{Store: memtest.New(memtest.Every), Now: in.Now}
	in.People = book
	return book
}

// speaker says things to an intake, each as an event of its own.
type speaker struct {
	t  *testing.T
	in *intake.Intake
	w  *world
	n  int
}

// answered reports whether something was queued for m.
func (s *speaker) answered(m channels.Message) bool {
	s.t.Helper()
	s.n++
	m.Event, m.MessageID = fmt.Sprint("e", s.n), fmt.Sprint("m", s.n)
	before := len(s.w.published)
	noError(s.t, s.in.Accept(s.t.Context(), m))
	return len(s.w.published) > before
}

// (security 5.1) Who is shut out is so with the next event, wherever the configuration lists
// them, is told nothing, and is back when that is taken back.
func TestWhoIsShutOutIsNotAnsweredAlthoughTheyAreListed(t *testing.T) {
	t.Parallel()
	for name, access := range map[string]policy.Access{
		"listed":    {People: []string{ann, ben}, Groups: []string{kitchen}},
		"everybody": {Everyone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w world
			in := w.intake(access)
			in.Limits.Strangers = 20
			book, s := withPeople(in), &speaker{t: t, in: in, w: &w}
			if !s.answered(dm(ben, "hi")) || !s.answered(group(ben, "hi")) {
				t.Fatal("who is listed is not answered")
			}
			if _, err := book.Deny(t.Context(), "tg", ben, people.By{}); err != nil {
				t.Fatal(err)
			}
			for _, m := range []channels.Message{dm(ben, "hi"), group(ben, "hi"), dm(ben, "/status"), dm(ben, "/stop"), unreadable(ben)} {
				if s.answered(m) || in.Heeds(t.Context(), m) {
					t.Errorf("who is shut out is heard: %+v", m)
				}
			}
			if _, _, err := in.Reconstruct(t.Context(), letterOf(t, dm(ben, "hi"))); err == nil {
				t.Error("a dead letter of who is shut out is redelivered")
			}
			quoting := dm(ann, "what does he mean?")
			quoting.ReplyTo = &channels.Quote{Text: "do it", Author: channels.Sender{ID: ben}}
			if !s.answered(quoting) || !queued(t, &w).ReplyTo.Untrusted {
				t.Error("words of who is shut out are trusted, or another is not answered")
			}
			if len(w.notices)+len(w.requests)+len(w.dead) > 0 {
				t.Errorf("left %v, %v, %v", w.notices, w.requests, w.dead)
			}
			if _, err := book.Forget(t.Context(), "tg", ben, policy.ShutOut); err != nil {
				t.Fatal(err)
			}
			if !s.answered(dm(ben, "hi")) {
				t.Error("who is back is not answered")
			}
		})
	}
}

// (security 2, CVE-2026-26328) Who was let in is answered in direct messages, from the next one on,
// and in no group, whether it is listed or not.
func TestWhoIsLetInIsAnsweredInDirectMessagesOnly(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
	book, s := withPeople(in), &speaker{t: t, in: in, w: &w}
	if s.answered(dm(ben, "hi")) || in.Heeds(t.Context(), dm(ben, "hi")) {
		t.Fatal("a stranger is answered")
	}
	if _, err := book.Allow(t.Context(), "tg", ben, people.By{}); err != nil {
		t.Fatal(err)
	}
	if !s.answered(dm(ben, "hi")) || !in.Heeds(t.Context(), dm(ben, "hi")) {
		t.Error("who was let in is not answered")
	}
	elsewhere := group(ben, "hi")
	elsewhere.Address.Peer = "-3000"
	for _, m := range []channels.Message{group(ben, "hi"), elsewhere} {
		if s.answered(m) || in.Heeds(t.Context(), m) {
			t.Errorf("who was let in is answered in %s", m.Address.Peer)
		}
	}
	// The network itself says things of their chat.
	noError(t, in.Accept(t.Context(), membership(dm(ben, ""), true)))
	if len(w.changes) != 1 {
		t.Errorf("changes of the chat: %v", w.changes)
	}
	if s.answered(dm("1003", "hi")) {
		t.Error("another stranger is answered")
	}
}

// downPeople answers nothing.
type downPeople struct{}

func (downPeople) Ruling(context.Context, string, channels.Sender) (policy.Ruling, error) {
	return policy.LetIn, errDown
}

func (downPeople) Ask(context.Context, string, channels.Sender) (string, time.Time, error) {
	return "", time.Time{}, errDown
}

// While decisions cannot be looked up nobody is let in, and nothing is lost.
func TestNobodyIsLetInWhileDecisionsCannotBeRead(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}})
	in.People = downPeople{}
	for _, m := range []channels.Message{dm(ann, "hi"), dm(ben, "hi"), unreadable(ben), membership(dm(ann, ""), true)} {
		if err := in.Accept(t.Context(), m); !errors.Is(err, errDown) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if _, err := intake.Reauthorize(t.Context(), downPeople{}, in.Sources, dm(ann, "hi")); !errors.Is(err, errDown) {
		t.Errorf("a turn is taken: %v", err)
	}
	if w.trace() > 0 {
		t.Errorf("left %v, %v, %v", w.published, w.notices, w.requests)
	}
}

func unreadable(from string) channels.Message {
	m := dm(from, "")
	m.Kind, m.Problem = channels.Unreadable, "no idea"
	return m
}

func letterOf(t *testing.T, m channels.Message) broker.DeadLetter {
	t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return broker.DeadLetter{ID: "letter", Body: body}
}

// queued returns the message that was queued last.
func queued(t *testing.T, w *world) (m channels.Message) {
	t.Helper()
	if err := json.Unmarshal(w.published[len(w.published)-1].Body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
