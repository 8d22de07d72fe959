package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessions"
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
	if _, err := book.Allow(t.Context(), "tg", ben, roles.None, people.By{}); err != nil {
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

// firstday A2, security 5.1: a stranger is given a code in a direct message, as often as strangers are
// answered and no oftener; nothing of what they say is kept, and the code lets them in at once.
func TestStrangersAreGivenACode(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}, Approvers: []string{ann}, Pairing: true})
	in.Limits.Strangers = 2
	book, s := withPeople(in), &speaker{t: t, in: in, w: &w}
	asking := func() []people.Request {
		t.Helper()
		rs, err := book.Requests(t.Context(), "")
		noError(t, err)
		return rs
	}
	bot := dm(ben, "hi")
	bot.Sender.Bot = true
	for _, m := range []channels.Message{bot, group(ben, "hi"), dm(ann, "hi")} {
		s.answered(m)
	}
	if rs := asking(); len(rs)+len(w.notices) != 0 {
		t.Fatalf("codes were given: %+v, %v", rs, w.notices)
	}
	for range 3 {
		s.answered(dm(ben, "let me in"))
	}
	s.answered(dm("1003", "and me"))
	s.answered(dm("1004", "one more than are answered in an hour"))
	rs := asking()
	if len(rs) != 2 || len(w.notices) != 2 {
		t.Fatalf("asking: %+v, told: %v", rs, w.notices)
	}
	if want := "I may only talk to people whom my operator knows. If you should be one of them, give them this code, within 24 hours: " + rs[0].Code; rs[0].ID != ben || w.notices[0].Text != want || w.notices[0].To != dm(ben, "").Address {
		t.Errorf("told %+v, want %s", w.notices[0], want)
	}
	_, err := book.Approve(t.Context(), "tg", rs[0].Code, people.By{ID: ann}, "e")
	noError(t, err)
	if !s.answered(dm(ben, "hi")) {
		t.Error("who was let in is not answered")
	}
	// Without a store for codes the id is told, as without pairing.
	in.People = noCodes{book}
	in.Limits.Strangers = 3
	s.answered(dm("1005", "hi"))
	if last := w.notices[len(w.notices)-1].Text; last != "I may only talk to people whom my operator knows. If you should be one of them, give them your id: 1005" {
		t.Errorf("told %s", last)
	}
}

// noCodes gives nobody a code.
type noCodes struct{ *people.Book }

func (noCodes) Ask(context.Context, string, channels.Sender) (string, time.Time, error) {
	return "", time.Time{}, errDown
}

// An approver lets people in where they type a code: in their own direct messages, and as who they
// are.
func TestACodeIsTypedByAnApprover(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(policy.Access{People: []string{ann, "1003"}, Groups: []string{kitchen}, Approvers: []string{ann}, Pairing: true})
	in.Limits.Strangers = 20
	book, s := withPeople(in), &speaker{t: t, in: in, w: &w}
	in.Commands = &commands.Handler{Store: desk{world: &w}, Now: in.Now, People: book}
	s.answered(dm(ben, "hi"))
	rs, err := book.Requests(t.Context(), "tg")
	if err != nil || len(rs) != 1 {
		t.Fatal(rs, err)
	}
	code := rs[0].Code
	for _, c := range []struct {
		m    channels.Message
		want string
	}{
		{dm("1003", "/pair "+code), "You may not let people in here."},
		{group(ann, "/pair "+code), "Please send me that in a direct message."},
		{dm(ann, "/pair"), "Which one? Behind /pair stands the code of eight characters that I gave to whom I did not know."},
		{dm(ann, "/pair "+strings.ToLower(code)), "Done: I answer `" + ben + "` in direct messages from now on."},
		{dm(ann, "/pair "+code), "Nobody waits with the code " + code + ": it was used, has expired, or was mistyped."},
	} {
		s.answered(c.m)
		if got := w.notices[len(w.notices)-1]; got.Text != c.want || got.To != c.m.Address {
			t.Errorf("%s said %q and was told %q, want %q", c.m.Sender.ID, c.m.Text, got.Text, c.want)
		}
	}
	if !s.answered(dm(ben, "hi")) {
		t.Error("who was let in is not answered")
	}
	before := len(w.notices)
	if s.answered(dm(ben, "/pair "+code)); w.notices[before].Text != "You may not let people in here." {
		t.Errorf("who was let in lets in: %s", w.notices[before].Text)
	}
	if _, err := book.Deny(t.Context(), "tg", ann, people.By{}); err != nil {
		t.Fatal(err)
	}
	if s.answered(dm(ann, "/pair "+code)); len(w.notices) != before+1 {
		t.Error("an approver who is shut out is answered")
	}
}

// (security 5.1) A command about people that the network brings again is not carried out again: what
// it decided has been decided otherwise since.
func TestACommandThatComesAgainDecidesNothingAgain(t *testing.T) {
	t.Parallel()
	var w world
	access := policy.Access{People: []string{ann}, Roles: policy.RoleLists{Owner: []string{ann}}, Pairing: true}
	in := w.intake(access)
	in.Limits.Strangers = 20
	book := withPeople(in)
	in.Commands = &commands.Handler{
		Store: desk{world: &w}, Now: in.Now, People: book, Accounts: map[string]commands.Account{"tg": {Access: access}},
	}
	says := func(event, text string) {
		t.Helper()
		m := dm(ann, text)
		m.Event, m.MessageID = event, event
		noError(t, in.Accept(t.Context(), m))
	}
	is := func(id string, want policy.Ruling) {
		t.Helper()
		if got, err := book.Standing(t.Context(), "tg", channels.Sender{ID: id}); err != nil || got.Ruling != want {
			t.Errorf("%s is decided %+v, %v, want %q", id, got, err, want)
		}
	}
	says("a1", "/access allow 9")
	is("9", policy.LetIn)
	says("a2", "/access deny 9")
	says("a1", "/access allow 9")
	is("9", policy.ShutOutByOwner)
	noError(t, in.Accept(t.Context(), dm(ben, "hi")))
	rs, err := book.Requests(t.Context(), "tg")
	if err != nil || len(rs) != 1 {
		t.Fatal(rs, err)
	}
	says("p1", "/pair "+rs[0].Code)
	is(ben, policy.LetIn)
	if _, err := book.Forget(t.Context(), "tg", ben, policy.LetIn); err != nil {
		t.Fatal(err)
	}
	says("p1", "/pair "+rs[0].Code)
	is(ben, policy.NoRuling)
	if w.counts["deduplicated tg message_id"] != 2 {
		t.Errorf("counted %v", w.counts)
	}
}

// downPeople answers nothing.
type downPeople struct{}

func (downPeople) Standing(context.Context, string, channels.Sender) (policy.Standing, error) {
	return policy.Standing{Ruling: policy.LetIn}, errDown
}

func (downPeople) ReadAhead(context.Context, string, channels.Sender, sessions.ChatID, ...sessions.RecordID) sessions.Ahead {
	return sessions.Ahead{}
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
