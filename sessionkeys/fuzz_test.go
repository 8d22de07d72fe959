package sessionkeys_test

import (
	"errors"
	"strings"
	"testing"

	. "parley/sessionkeys"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"main:+4915112345678:signal:dm:6f1c2d7a-8f9e-4c36-9a42-0b1c2d3e4f50",
		"main:U1:slack:channel:C1:thread:1482960137.003543",
		"main:1:telegram:group:x%3Agroup%3Ay",
		"agent:helper:sub:1:main:1:telegram:dm:2",
		"main:42:irc-3:dm:ann", "sub:1:a:dm:2", "agent:x:sub:1:sub:1:a-1:group:2:thread:3",
		"main:1:sub:dm:2", "main:1:dm:dm:2", "main:1:agent:group:2", "main:1:thread:channel:2",
		"agent:b:sub:2:agent:a:sub:1:main:1:telegram:dm:2:thread:3",
		"main:a:signal:dm:%41", "main:a:signal:dm:%3a", "main:a:signal:dm:%", "agent:agent:sub:1:x",
		"", ":", "::::", "agent:", "main:%00:signal:dm:%FF",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := Parse(s)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !k.IsZero() {
				t.Fatalf("Parse(%q) = %v, %v", s, k, err)
			}
			return
		}
		if k.String() != s {
			t.Fatalf("Parse(%q).String() = %q", s, k)
		}
		if !tokenForm.MatchString(k.Token()) {
			t.Fatalf("token of %q is %q", s, k.Token())
		}
		root, err := For(k.Root().Agent(), k.Address())
		if err != nil || root != k.Root() {
			t.Fatalf("%q: its agent and address give %v, %v", s, root, err)
		}
		parent, child := k.Parent()
		if !child {
			if k != root {
				t.Fatalf("%q has no parent but root %v", s, root)
			}
			return
		}
		if again, err := parent.Child(k.Agent()); err != nil || again != k {
			t.Fatalf("%q: its parent's child is %v, %v", s, again, err)
		}
	})
}

func FuzzFor(f *testing.F) {
	f.Add("main", "signal", "+1555", "dm", "uuid", "", "main", "signal", "+1555", "dm", "uuid", "1")
	f.Add("main", "telegram", "1", "group", "x:group:y", "", "main", "telegram", "1:telegram", "group", "y", "")
	f.Add("main", "slack", "1", "channel", "3", "131", "main", "slack", "1", "channel", "31", "31")
	f.Add("main", "slack", "1", "channel", "a:thread:b", "", "main", "slack", "1", "channel", "a", "b")
	f.Add("main", "irc", "1", "dm", "a", "", "main", "irc-3", "1", "dm", "a", "")
	f.Add("sub", "a", "1", "dm", "x", "thread", "sub", "thread", "1", "dm", "x", "")
	f.Add("a", "signal", "%3A", "dm", ":", "%", "a", "signal", ":", "dm", "%3A", "%25")
	f.Add("a", "signal", "\x00\xff", "dm", "é", "\u200b", "a", "sub", "1", "dm", "1", "")
	f.Fuzz(func(t *testing.T, ag1, ch1, ac1, ki1, pe1, th1, ag2, ch2, ac2, ki2, pe2, th2 string) {
		a := Address{Channel: ch1, Account: ac1, Kind: Kind(ki1), Peer: pe1, Thread: th1}
		b := Address{Channel: ch2, Account: ac2, Kind: Kind(ki2), Peer: pe2, Thread: th2}
		k1, err := For(ag1, a)
		if err != nil {
			return
		}
		if again, err := Parse(k1.String()); err != nil || again != k1 {
			t.Fatalf("Parse(%q) = %v, %v", k1, again, err)
		}
		if k1.Agent() != ag1 || k1.Address() != a {
			t.Fatalf("%q came back as %q at %+v, was %q at %+v", k1, k1.Agent(), k1.Address(), ag1, a)
		}
		if i := strings.IndexFunc(k1.String(), func(r rune) bool { return r < 0x21 || r > 0x7e }); i >= 0 {
			t.Fatalf("%q holds an unprintable byte at %d", k1, i)
		}
		if !tokenForm.MatchString(k1.Token()) {
			t.Fatalf("token of %q is %q", k1, k1.Token())
		}
		k2, err := For(ag2, b)
		if err != nil {
			return
		}
		same := ag1 == ag2 && a == b
		if (k1 == k2) != same || (k1.Token() == k2.Token()) != same {
			t.Fatalf("%q and %q of different places share a key or a token", k1, k2)
		}
	})
}
