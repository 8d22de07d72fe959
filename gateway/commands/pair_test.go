package commands_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
)

// security 5.1: /pair lets in the person to whom a code was given, once. When it lets nobody in, its
// answer says why.
func TestPair(t *testing.T) {
	t.Parallel()
	t.Run("the code lets its person in, once", func(t *testing.T) {
		t.Parallel()
		p := newPairing(t)
		code := p.ask(channels.Sender{ID: "66"})
		p.says("m1", strings.ToLower(code[:4]+"-"+code[4:]), "Done: I answer `66` in direct messages from now on.")
		p.is(policy.LetIn)
		if got := p.logged.String(); strings.Count(got, "person let in by their code") != 1 || strings.Contains(got, code) {
			t.Errorf("the log says %q", got)
		}
		p.says("m2", code, "Nobody waits with the code "+code+": it was used, has expired, or was mistyped.")
		p.says("m1", code, "Done: I answer `66` in direct messages from now on.")
	})
	t.Run("what is no code is asked for", func(t *testing.T) {
		t.Parallel()
		p := newPairing(t)
		for _, typed := range []string{"", "me", "12345678901"} {
			p.says("m", typed, "Which one? Behind /pair stands the code of eight characters that I gave to whom I did not know.")
		}
	})
	t.Run("who may not pair learns nothing of a code", func(t *testing.T) {
		t.Parallel()
		p := newPairing(t)
		code := p.ask(channels.Sender{ID: "66"})
		for _, r := range []roles.Role{roles.None, roles.Guest, roles.User} {
			p.by.Role = r
			p.says("m", code, "You may not let people in here.")
		}
		p.by.Role = roles.Admin
		p.by.From = sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "-1"}
		p.says("m", code, "Please send me that in a direct message.")
		p.is(policy.NoRuling)
	})
	t.Run("who has typed too many wrong codes waits, also with a right one", func(t *testing.T) {
		t.Parallel()
		p := newPairing(t)
		code := p.ask(channels.Sender{ID: "66"})
		for range 5 {
			p.says("m", "00000000", "Nobody waits with the code 00000000: it was used, has expired, or was mistyped.")
		}
		p.says("m", code, "Those were too many wrong codes. Please try again in ten minutes.")
		p.is(policy.NoRuling)
		p.now = now.Add(10 * time.Minute)
		p.says("m", code, "Done: I answer `66` in direct messages from now on.")
		p.is(policy.LetIn)
	})
	for name, by := range map[string]people.By{"the operator": {}, "an owner": {ID: "1"}} {
		t.Run("no code undoes that "+name+" has shut its person out", func(t *testing.T) {
			t.Parallel()
			p := newPairing(t)
			code := p.ask(channels.Sender{ID: "66", Alias: "+66"})
			if _, err := p.book.Deny(t.Context(), "tg", "+66", by); err != nil {
				t.Fatal(err)
			}
			p.says("m", code, "The person of that code is shut out, so it does not let them in.")
			p.is(policy.NoRuling)
		})
	}
	t.Run("who decides in the same moment goes before", func(t *testing.T) {
		t.Parallel()
		p := newPairing(t)
		code := p.ask(channels.Sender{ID: "66"})
		p.book.Store = &meanwhile{Store: p.store, reads: -1, kind: "person", does: denies(t, "66")}
		p.says("m", code, "Somebody else decided about the person of that code just now, so I did nothing.")
		p.is(policy.ShutOut)
	})
}

// pairing is an admin before a desk and its book.
type pairing struct {
	t      *testing.T
	book   *people.Book
	store  sessions.Store
	now    time.Time
	by     messages.Caller
	logged bytes.Buffer
	answer func(by messages.Caller, c messages.Command) (string, error)
}

func newPairing(t *testing.T) *pairing {
	t.Helper()
	d, s, k := desk(t)
	p := &pairing{t: t, now: now, store: s, by: asker(k)}
	p.book = &people.Book{Store: s, Now: func() time.Time { return p.now }}
	p.by.Channel, p.by.Role = "tg", roles.Admin
	d.People, d.Log = p.book, slog.New(slog.NewTextHandler(&p.logged, nil))
	p.answer = func(by messages.Caller, c messages.Command) (string, error) { return d.Answer(t.Context(), by, c) }
	return p
}

// ask gives a stranger a code.
func (p *pairing) ask(s channels.Sender) string {
	p.t.Helper()
	code, _, err := p.book.Ask(p.t.Context(), "tg", s)
	if err != nil {
		p.t.Fatal(err)
	}
	return code
}

// says checks the answer to /pair with words behind it, in an event.
func (p *pairing) says(event, typed, want string) {
	p.t.Helper()
	p.by.Event = event
	if text, err := p.answer(p.by, messages.Command{Name: "pair", Args: typed}); err != nil || text != want {
		p.t.Errorf("/pair %s: %q, %v, want %q", typed, text, err, want)
	}
}

// is checks what is decided about 66.
func (p *pairing) is(want policy.Ruling) {
	p.t.Helper()
	if standing, err := p.book.Standing(p.t.Context(), "tg", channels.Sender{ID: "66"}); err != nil || standing.Ruling != want {
		p.t.Errorf("66 is decided %+v, %v, want %q", standing, err, want)
	}
}

// denies returns what the operator does at the same time: shut a person out.
func denies(t *testing.T, id string) func(people.Store) {
	return func(s people.Store) {
		if _, err := (&people.Book{Store: s, Now: func() time.Time { return now }}).Deny(t.Context(), "tg", id, people.By{}); err != nil {
			t.Error(err)
		}
	}
}
