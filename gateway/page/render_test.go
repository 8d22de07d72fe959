package page

import (
	"strings"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"👩\u200d🚀 Zoë is ok":      "👩\u200d🚀 Zoë is ok",
		"a\nb\u202ec\u2800\u3164": "a\uFFFDb\uFFFDc\uFFFD\uFFFD",
		strings.Repeat("é", 161):  strings.Repeat("é", 160) + "…",
		strings.Repeat("é", 160):  strings.Repeat("é", 160),
		"\xff":                    "\uFFFD",
	} {
		if got := line(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	if got := block("a\r\n\tb\u2067\x1b"); got != "a\n\tb\uFFFD\uFFFD" {
		t.Errorf("several lines are shown as %q", got)
	}
}

// Who guesses has five tries and then one every twelve seconds; from many addresses thirty.
func TestThrottle(t *testing.T) {
	t.Parallel()
	var th throttle
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tries := func(from string) (n int) {
		for th.take(from, now) {
			n++
		}
		return n
	}
	if n := tries("a"); n != 5 {
		t.Errorf("%d tries from one address", n)
	}
	now = now.Add(12 * time.Second)
	if n := tries("a"); n != 1 {
		t.Errorf("%d tries after twelve seconds", n)
	}
	sum := 0
	for i := range 40 {
		sum += tries(string(rune('b' + i)))
	}
	if sum != 29 { // one is of the first
		t.Errorf("%d tries from all other addresses", sum)
	}
	now = now.Add(time.Hour)
	for range 100 {
		if !th.take("a", now) {
			t.Fatal("who logs in again and again is shut out")
		}
		th.giveBack("a")
	}
	for i := range 3 * maxAddresses {
		now = now.Add(2 * time.Second)
		th.take(string(rune(0x4000+i)), now)
	}
	if len(th.one) > maxAddresses {
		t.Errorf("%d addresses are remembered", len(th.one))
	}
}

// A log-in and a code end, and the oldest of too many goes.
func TestDoors(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	d := newDoors(map[string]string{"ann": "x"}, func() time.Time { return now })
	late, _ := d.newCode("uid 1")
	now = now.Add(codeFor)
	if _, _, o := d.try("a", late, "", ""); o != wrong {
		t.Error("an old code lets somebody in")
	}
	first, by, o := d.try("a", "", "ann", "x")
	if o != right || by != "ann" || d.find(first) == nil || d.find(first+"x") != nil || d.find("") != nil {
		t.Fatalf("%s, %d", by, o)
	}
	now = now.Add(loginFor)
	if d.find(first) != nil {
		t.Error("a log-in does not end")
	}
	first, _, _ = d.try("a", "", "ann", "x")
	for range maxLogins {
		d.try("a", "", "ann", "x")
	}
	if d.find(first) != nil || len(d.logins) != maxLogins {
		t.Errorf("%d are logged in", len(d.logins))
	}
	oldest, _ := d.newCode("uid 1")
	for range maxCodes {
		d.newCode("uid 2")
	}
	if _, _, o := d.try("a", oldest, "", ""); o != wrong || len(d.codes) != maxCodes {
		t.Errorf("%d codes are good", len(d.codes))
	}
}
