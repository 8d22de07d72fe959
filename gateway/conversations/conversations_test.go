package conversations_test

import (
	"fmt"
	"testing"
	"time"

	"parley/gateway/conversations"
	"parley/sessionkeys"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func id(n int) sessionkeys.SessionID { return sessionkeys.SessionID(fmt.Sprint("s", n)) }

func TestANumberIsOneSessionsForEver(t *testing.T) {
	t.Parallel()
	var b conversations.Book
	for n := range conversations.MaxEarlier + 10 {
		b = b.Leave(id(n), noon)
	}
	before := b
	b = b.Leave(id(20), noon.Add(time.Hour))
	if b.Earlier[0] != (conversations.Earlier{Session: id(20), Number: 21, Left: noon.Add(time.Hour)}) || len(b.Earlier) != conversations.MaxEarlier {
		t.Errorf("left again: %+v of %d", b.Earlier[0], len(b.Earlier))
	}
	b = b.Leave(id(0), noon) // forgotten since
	if n := b.Number(id(0)); n != conversations.MaxEarlier+11 {
		t.Errorf("a session that was forgotten has the number %d of another", n)
	}
	seen := map[int]bool{}
	for _, e := range b.Earlier {
		if seen[e.Number] {
			t.Errorf("two have the number %d", e.Number)
		}
		seen[e.Number] = true
	}
	if before.Earlier[0].Session != id(conversations.MaxEarlier+9) {
		t.Error("the book before was changed")
	}
	if rest := b.Except(id(0)); len(rest) != conversations.MaxEarlier-1 || b.Number(id(99)) != 0 {
		t.Errorf("%d are left without one", len(rest))
	}
}

func TestALabelIsOneLineOfWhatIsShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " \n\t": "", "a\nb": "a b", "x\u202ey\x1b[2J": "x y [2J", "a\u2028b": "a b",
	} {
		if got := conversations.OneLine(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	if got := conversations.Code("`rm` [x](https://example.org)"); got != "`'rm' [x](https://example.org)`" {
		t.Errorf("as code %q", got)
	}
}
