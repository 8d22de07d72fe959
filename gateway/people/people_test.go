package people_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessions"
	"parley/sessions/memtest"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// book is a Book on a store of its own, with a clock that a test moves.
type book struct {
	*people.Book
	t      *testing.T
	now    time.Time
	counts map[string]int
}

func open(t *testing.T) *book {
	t.Helper()
	b := &book{t: t, now: noon, counts: map[string]int{}}
	b.Book = &people.Book{Store: memtest.New(memtest.Every), Now: func() time.Time { return b.now }, Count: func(c string) { b.counts[c]++ }}
	return b
}

func (b *book) ask(channel, id string) (code string) {
	b.t.Helper()
	code, until, err := b.Ask(b.t.Context(), channel, channels.Sender{ID: id, Name: "Mallory"})
	if err != nil || !until.Equal(b.now.Add(people.CodeLifetime)) {
		b.t.Fatal(until, err)
	}
	return code
}

func (b *book) want(channel string, s channels.Sender, want policy.Ruling) {
	b.t.Helper()
	if got, err := b.Standing(b.t.Context(), channel, s); got.Ruling != want || err != nil {
		b.t.Errorf("about %+v on %s is decided %v, %v; want %q", s, channel, got, err, want)
	}
}

func (b *book) approve(channel, code, event string) (people.Person, error) {
	p, err := b.Approve(b.t.Context(), channel, code, people.By{ID: "7", Name: "Ann"}, event)
	return p, err // the test looks at it
}

func TestReadCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"7K3MD0XY": "7K3MD0XY", " `7k3m-doxy`. ": "7K3MD0XY", "7k3m d0xy": "7K3MD0XY", "ILIL0000": "11110000",
		"": "", "7K3MD0X": "", "7K3MD0XYZ": "", "7K3MD0XU": "", "ÄK3MD0X": "", "7K3MD0\u202eXY": "",
	} {
		if got := people.ReadCode(typed); got != want {
			t.Errorf("%q is read as %q, want %q", typed, got, want)
		}
	}
	b := open(t)
	for n := range 50 {
		if c := b.ask("tg", fmt.Sprint(n)); people.ReadCode(strings.ToLower(c)) != c {
			t.Errorf("%s does not read as itself", c)
		}
	}
}

func TestRuling(t *testing.T) {
	t.Parallel()
	b := open(t)
	ann, ctx := channels.Sender{ID: "1", Alias: "+49"}, t.Context()
	must := func(_ people.Person, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b.want("tg", ann, policy.NoRuling)
	b.want("tg", channels.Sender{}, policy.NoRuling)
	b.want("tg", channels.Sender{ID: "\xff"}, policy.NoRuling)
	must(b.Allow(ctx, "tg", "1", roles.None, people.By{}))
	b.want("tg", ann, policy.LetIn)
	b.want("tg2", ann, policy.NoRuling)
	b.want("tg", channels.Sender{ID: "11"}, policy.NoRuling)
	// Who is shut out by one id is, whatever was decided about the other.
	must(b.Deny(ctx, "tg", "+49", people.By{}))
	b.want("tg", ann, policy.ShutOut)
	b.want("tg", channels.Sender{ID: "1"}, policy.LetIn)
	must(b.Deny(ctx, "tg", "1", people.By{}))
	b.want("tg", channels.Sender{ID: "1"}, policy.ShutOut)
	must(b.Allow(ctx, "tg", "1", roles.None, people.By{}))
	must(b.Allow(ctx, "tg", "+49", roles.None, people.By{}))
	b.want("tg", ann, policy.LetIn)
	if ok, err := b.Forget(ctx, "tg", "1", policy.ShutOut); ok || err != nil {
		t.Errorf("a decision that is not there was forgotten: %v, %v", ok, err)
	}
	for _, id := range []string{"1", "+49"} {
		if ok, err := b.Forget(ctx, "tg", id, policy.LetIn); !ok || err != nil {
			t.Errorf("forget %s: %v, %v", id, ok, err)
		}
	}
	b.want("tg", ann, policy.NoRuling)
	if b.counts["allowed"] != 3 || b.counts["denied"] != 2 || b.counts["revoked"] != 2 {
		t.Errorf("counted %v", b.counts)
	}
}

// Who was shut out by one of the ids that are known to be theirs is back when they are let in by either.
func TestWhoIsLetInByTheirOtherID(t *testing.T) {
	t.Parallel()
	who, owner := channels.Sender{ID: "aci", Alias: "+49"}, people.By{ID: "7"}
	pairThenDeny := func(b *book, by people.By) {
		b.t.Helper()
		code, _, err := b.Ask(b.t.Context(), "tg", who)
		if err != nil {
			b.t.Fatal(err)
		}
		if _, err := b.approve("tg", code, "e1"); err != nil {
			b.t.Fatal(err)
		}
		if _, err := b.Deny(b.t.Context(), "tg", who.Alias, by); err != nil {
			b.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		undo func(b *book, id string) error
		want policy.Ruling
	}{
		"is back": {func(b *book, id string) error {
			_, err := b.Allow(b.t.Context(), "tg", id, roles.None, owner)
			return err // the test looks at it
		}, policy.LetIn},
		"is what the configuration says when the decision is taken back": {func(b *book, id string) error {
			_, err := b.Reset(b.t.Context(), "tg", id, owner)
			return err // the test looks at it
		}, policy.NoRuling},
	} {
		for _, id := range []string{who.ID, who.Alias} {
			t.Run(name+" by "+id, func(t *testing.T) {
				t.Parallel()
				b := open(t)
				pairThenDeny(b, owner)
				b.want("tg", who, policy.ShutOutByOwner)
				if err := c.undo(b, id); err != nil {
					t.Fatal(err)
				}
				b.want("tg", who, c.want)
			})
		}
	}
	t.Run("stays out whom the operator has shut out by one", func(t *testing.T) {
		t.Parallel()
		b := open(t)
		pairThenDeny(b, people.By{})
		for _, id := range []string{who.ID, who.Alias} {
			if _, err := b.Allow(t.Context(), "tg", id, roles.None, owner); !errors.Is(err, people.ErrShutOut) {
				t.Errorf("an owner lets in %s: %v", id, err)
			}
			if _, err := b.Reset(t.Context(), "tg", id, owner); !errors.Is(err, people.ErrShutOut) {
				t.Errorf("an owner takes the denial of %s back: %v", id, err)
			}
		}
		b.want("tg", who, policy.ShutOut)
	})
}

// What cannot be read lets nobody in, and stops nobody else.
func TestUnreadableDecisions(t *testing.T) {
	t.Parallel()
	b := open(t)
	for id, body := range map[string]string{"1": `{"ruling":7}`, "2": `{"id":"2","ruling":"perhaps"}`} {
		if _, err := b.Store.WriteRecord(t.Context(), sessions.Record{ID: sessions.RecordID{Kind: "person", Key: "tg/" + id}, Body: []byte(body), At: noon}); err != nil {
			t.Fatal(err)
		}
		b.want("tg", channels.Sender{ID: id}, policy.ShutOut)
	}
	if _, err := b.Allow(t.Context(), "tg", "1", roles.None, people.By{}); err != nil {
		t.Error(err)
	}
	b.want("tg", channels.Sender{ID: "1"}, policy.LetIn)
}

// G26 (security 5.1): a code lets in who was given it, in one account, once, and not after its time.
func TestACodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	ben := b.ask("tg", "2")
	if again := b.ask("tg", "2"); again != ben {
		t.Errorf("who asks again gets %s after %s", again, ben)
	}
	for channel, code := range map[string]string{"tg2": ben, "tg": "00000000"} {
		if _, err := b.approve(channel, code, "e1"); !errors.Is(err, people.ErrNoCode) {
			t.Errorf("%s on %s: %v", code, channel, err)
		}
	}
	p, err := b.approve("tg", ben, "e1")
	if err != nil || p.ID != "2" || p.By != (people.By{ID: "7", Name: "Ann", Code: ben}) || !p.At.Equal(noon) {
		t.Fatalf("let in: %+v, %v", p, err)
	}
	b.want("tg", channels.Sender{ID: "2"}, policy.LetIn)
	if _, err := b.approve("tg", ben, "e1"); err != nil {
		t.Errorf("the same event that comes again: %v", err)
	}
	if rs, err := b.Requests(t.Context(), ""); len(rs) != 0 || err != nil {
		t.Errorf("still asking: %+v, %v", rs, err)
	}
	if _, err := b.Forget(t.Context(), "tg", "2", policy.LetIn); err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"e2", ""} {
		if _, err := b.approve("tg", ben, event); !errors.Is(err, people.ErrNoCode) {
			t.Errorf("used again: %v", err)
		}
	}
	b.want("tg", channels.Sender{ID: "2"}, policy.NoRuling)
	if next := b.ask("tg", "2"); next == ben {
		t.Error("a code that was used is given out again")
	}

	late := b.ask("tg", "3")
	b.now = b.now.Add(people.CodeLifetime)
	if _, err := b.approve("tg", late, "e3"); !errors.Is(err, people.ErrNoCode) {
		t.Errorf("after its time: %v", err)
	}
}

// Of two who use a code at the same moment, in the same words, one is too late.
func TestACodeIsUsedByOne(t *testing.T) {
	t.Parallel()
	b := open(t)
	code := b.ask("tg", "2")
	s := &interrupted{Store: b.Store, kind: "pairing"}
	s.first = func() {
		if _, err := b.Approve(t.Context(), "", code, people.By{}, ""); err != nil {
			t.Error(err)
		}
	}
	second := &people.Book{Store: s, Now: b.Now}
	if _, err := second.Approve(t.Context(), "", code, people.By{}, ""); !errors.Is(err, people.ErrNoCode) || s.first != nil {
		t.Errorf("the second: %v", err)
	}
}

// Wrong codes of one approver are few, whatever they run beside each other; they are not those of
// another, and right ones do not count.
func TestWrongCodesAreFew(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.Count = nil
	for n := range 6 {
		if _, err := b.approve("tg", b.ask("tg", fmt.Sprint("r", n)), fmt.Sprint("r", n)); err != nil {
			t.Fatal(err)
		}
	}
	right := b.ask("tg", "2")
	var wrong atomic.Int32
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			switch _, err := b.approve("tg", "00000000", "e"); {
			case errors.Is(err, people.ErrNoCode):
				wrong.Add(1)
			case !errors.Is(err, people.ErrTries):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if wrong.Load() != 5 {
		t.Errorf("%d wrong codes were looked at, not 5", wrong.Load())
	}
	b.now = b.now.Add(10*time.Minute - 1)
	if _, err := b.approve("tg", right, "e"); !errors.Is(err, people.ErrTries) {
		t.Errorf("before ten minutes: %v", err)
	}
	if _, err := b.Approve(t.Context(), "tg", "00000000", people.By{ID: "8"}, "e"); !errors.Is(err, people.ErrNoCode) {
		t.Errorf("another approver: %v", err)
	}
	b.now = b.now.Add(1)
	if _, err := b.approve("tg", right, "e"); err != nil {
		t.Errorf("after ten minutes: %v", err)
	}
}

// interrupted is a store in which something happens just before the first record of a kind is
// written.
type interrupted struct {
	people.Store
	kind  string
	first func() // nil: it has happened
}

func (s *interrupted) WriteRecord(ctx context.Context, r sessions.Record) (int64, error) {
	if first := s.first; first != nil && r.ID.Kind == s.kind {
		s.first = nil
		first()
	}
	return s.Store.WriteRecord(ctx, r) // it is the store
}

func TestACodeDoesNotUndoThatSomebodyIsShutOut(t *testing.T) {
	t.Parallel()
	b := open(t)
	code := b.ask("tg", "2")
	if _, err := b.Deny(t.Context(), "tg", "2", people.By{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.approve("tg", code, "e1"); !errors.Is(err, people.ErrNoCode) {
		t.Errorf("the code of who is shut out: %v", err)
	}
	code = b.ask("tg", "2") // which intake does not let them do
	if _, err := b.approve("tg", code, "e2"); !errors.Is(err, people.ErrShutOut) {
		t.Errorf("a later code of who is shut out: %v", err)
	}
	code = b.ask("tg", "3")
	s := &interrupted{Store: b.Store, kind: "person"}
	s.first = func() {
		if _, err := b.Deny(t.Context(), "tg", "3", people.By{}); err != nil {
			t.Error(err)
		}
	}
	racing := &people.Book{Store: s, Now: b.Now}
	if _, err := racing.Approve(t.Context(), "tg", code, people.By{ID: "7"}, "e3"); !errors.Is(err, people.ErrChanged) {
		t.Errorf("shut out in the same moment: %v", err)
	}
	b.want("tg", channels.Sender{ID: "3"}, policy.ShutOut)
}

// Strangers take each other's places only when more ask in a day than are answered by default.
func TestTheOldestOfTooManyCodesGoes(t *testing.T) {
	t.Parallel()
	b := open(t)
	if most := 24 * (policy.Limits{}).Defaults().Strangers; most >= 500 {
		t.Errorf("%d strangers are answered in a day, and fewer codes wait", most)
	}
	other := b.ask("tg2", "0")
	var codes []string
	for n := range 501 {
		b.now = b.now.Add(time.Second)
		codes = append(codes, b.ask("tg", fmt.Sprint(n)))
	}
	rs, err := b.Requests(t.Context(), "tg")
	if err != nil || len(rs) != 500 {
		t.Fatalf("%d codes wait, %v", len(rs), err)
	}
	if _, err := b.approve("tg", codes[0], "e1"); !errors.Is(err, people.ErrNoCode) {
		t.Errorf("the oldest: %v", err)
	}
	if _, err := b.approve("tg", codes[1], "e2"); err != nil {
		t.Errorf("the second: %v", err)
	}
	if _, err := b.approve("tg2", other, "e3"); err != nil {
		t.Errorf("another account's: %v", err)
	}
}

// (security 5.1, abuse) Of a stranger nothing is kept that they chose.
func TestAskKeepsNoName(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.ask("tg", "2")
	err := b.Store.Records(t.Context(), "pairing", "", noon, func(r sessions.Record) bool {
		if strings.Contains(string(r.Body), "Mallory") {
			t.Errorf("kept: %s", r.Body)
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
	if _, _, err := b.Ask(t.Context(), "tg", channels.Sender{ID: strings.Repeat("x", 256)}); err == nil {
		t.Error("an id of any length is kept")
	}
}

// What a newer parley has decided, and this one cannot read, is not taken back as if it let somebody in.
func TestDropTracesKeepsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, body := range map[string]string{"a ruling": `{"id": "2", "ruling": "quarantined"}`, "a role": `{"id": "2", "ruling": "allowed", "role": "warden"}`, "no JSON": `quarantined`} {
		b := open(t)
		if _, err := b.Allow(ctx, "tg", "3", roles.None, people.By{}); err != nil {
			t.Fatal(err)
		}
		_, err := b.Store.WriteRecord(ctx, sessions.Record{ID: sessions.RecordID{Kind: "person", Key: "tg/2"}, Body: []byte(body), At: noon})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			letIn, shutOut, _, err := b.Traces(ctx, "tg", []string{"2"})
			if err != nil || letIn || !shutOut {
				t.Errorf("%s: let in %v, shut out %v, %v", name, letIn, shutOut, err)
			}
			b.want("tg", channels.Sender{ID: "2"}, policy.ShutOut)
			if err := b.DropTraces(ctx, "tg", []string{"2", "3"}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			b.want("tg", channels.Sender{ID: "3"}, policy.NoRuling)
		}
	}
}
