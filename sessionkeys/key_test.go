package sessionkeys_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "parley/sessionkeys"
)

var tokenForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

func mustFor(t testing.TB, agent string, a Address) Key {
	t.Helper()
	k, err := For(agent, a)
	if err != nil {
		t.Fatalf("For(%q, %+v): %v", agent, a, err)
	}
	return k
}

func TestRealIDsStandInTheKeyAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want, token string
		address           Address
	}{
		{
			"T03 Signal direct message",
			"main:+4915112345678:signal:dm:6f1c2d7a-8f9e-4c36-9a42-0b1c2d3e4f50", "2e6b5a07d71b2f58e84327bcb4ea392e",
			Address{Channel: "signal", Account: "+4915112345678", Kind: DM, Peer: "6f1c2d7a-8f9e-4c36-9a42-0b1c2d3e4f50"},
		},
		{
			"T03 Signal group, whose id is base64 and case matters",
			"main:+4915112345678:signal:group:R3JvdXAvK0lkPT0/Kw==", "8a1f5c662fe630d07b0fdfcfd17a1dbd",
			Address{Channel: "signal", Account: "+4915112345678", Kind: Group, Peer: "R3JvdXAvK0lkPT0/Kw=="},
		},
		{
			"Telegram supergroup with a topic",
			"main:7012345678:telegram:group:-1001234567890:thread:42", "7c85d66f3c0a8a106dff20bc6164d346",
			Address{Channel: "telegram", Account: "7012345678", Kind: Group, Peer: "-1001234567890", Thread: "42"},
		},
		{
			"Slack channel with a thread",
			"ops_2:U0LAN0Z89:slack:channel:C024BE91L:thread:1482960137.003543", "a282fc02af1d8759f4ba6d8f698b925a",
			Address{Channel: "slack", Account: "U0LAN0Z89", Kind: Channel, Peer: "C024BE91L", Thread: "1482960137.003543"},
		},
		{
			"a network that nobody has heard of yet, whose ids hold separators",
			"main:@bot%3Aexample.org:matrix-2:group:!a-b%3Aexample.org:thread:$e", "2ec5f8092da534f36ff3747ee61dfb1f",
			Address{Channel: "matrix-2", Account: "@bot:example.org", Kind: Group, Peer: "!a-b:example.org", Thread: "$e"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			agent, _, _ := strings.Cut(tc.want, ":")
			k := mustFor(t, agent, tc.address)
			if k.String() != tc.want {
				t.Errorf("key is %s, want %s", k, tc.want)
			}
			if d := cmp.Diff(tc.address, k.Address()); d != "" {
				t.Errorf("address of the key (-want +got):\n%s", d)
			}
			if k.Agent() != agent {
				t.Errorf("agent is %q, want %q", k.Agent(), agent)
			}
			if k.Depth() != 0 || k.Root() != k {
				t.Errorf("a main key has depth %d and root %s", k.Depth(), k.Root())
			}
			if k.Token() != tc.token {
				t.Errorf("token is %s, was %s: whoever has this conversation loses it", k.Token(), tc.token)
			}
			if again, err := Parse(tc.want); err != nil || again != k {
				t.Errorf("Parse gives %v, %v", again, err)
			}
		})
	}
}

// The token is part of what stands in a store: changing it loses every mailbox.
func TestTokensNeverChange(t *testing.T) {
	t.Parallel()
	k := mustFor(t, "main", Address{Channel: "telegram", Account: "1", Kind: DM, Peer: "2"})
	if got, want := k.Token(), "5d964831c077a8d079d39cb719e02fb5"; got != want {
		t.Errorf("token of %s is %s, want %s", k, got, want)
	}
	if got, want := SessionID("01ARZ3NDEKTSV4RRFFQ69G5FAV").MailboxToken(), "b7e9ab6565d2381f8243779c368ffad1"; got != want {
		t.Errorf("mailbox token is %s, want %s", got, want)
	}
	if got, want := ChildID("p", "t", 3, "131"), SessionID("c-5023a80ce7365554acf393ce95e338c7"); got != want {
		t.Errorf("child id is %s, want %s", got, want)
	}
}

func TestHostileIDsCannotCrossAField(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, peer, want string }{
		{"separator", "x:group:y", "x%3Agroup%3Ay"},
		{"what looks like a thread", "x:thread:1", "x%3Athread%3A1"},
		{"subject wildcards stand, tokens keep them out of subjects", "in.*.>", "in.*.>"},
		{"percent sign", "100%3A", "100%253A"},
		{"space, tab, newline, NUL", " \t\n\x00", "%20%09%0A%00"},
		{"terminal escape and delete", "\x1b[2J\x7f", "%1B[2J%7F"},
		{"not UTF-8", "\xff\xfe", "%FF%FE"},
		{"no Unicode normalisation: composed", "\u00e9", "%C3%A9"},
		{"no Unicode normalisation: decomposed", "e\u0301", "e%CC%81"},
		{"no case folding", "aA", "aA"},
		{"path", "../../etc/passwd", "../../etc/passwd"},
		{"as long as allowed", strings.Repeat(":", MaxField), strings.Repeat("%3A", MaxField)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := Address{Channel: "slack", Account: "U1", Kind: DM, Peer: tc.peer}
			k := mustFor(t, "main", a)
			if want := "main:U1:slack:dm:" + tc.want; k.String() != want {
				t.Errorf("key is %s, want %s", k, want)
			}
			if k.Address() != a {
				t.Errorf("address came back as %+v", k.Address())
			}
			again, err := Parse(k.String())
			if err != nil || again != k {
				t.Errorf("Parse gives %v, %v", again, err)
			}
			if !tokenForm.MatchString(k.Token()) {
				t.Errorf("token is %q", k.Token())
			}
		})
	}
}

func TestWhatCannotBeAKeyIsRefused(t *testing.T) {
	t.Parallel()
	good := Address{Channel: "signal", Account: "a", Kind: DM, Peer: "p"}
	for _, tc := range []struct {
		name, agent string
		change      func(*Address)
	}{
		{"empty agent", "", nil},
		{"reserved agent", "agent", nil},
		{"agent in capitals", "Main", nil},
		{"agent with a separator", "a:b", nil},
		{"agent that starts with a dash", "-a", nil},
		{"agent of 33 bytes", strings.Repeat("a", 33), nil},
		{"empty account", "main", func(a *Address) { a.Account = "" }},
		{"empty peer", "main", func(a *Address) { a.Peer = "" }},
		{"account of 256 bytes", "main", func(a *Address) { a.Account = strings.Repeat("a", MaxField+1) }},
		{"peer of 64 KiB", "main", func(a *Address) { a.Peer = strings.Repeat("p", 64<<10) }},
		{"thread of 64 KiB", "main", func(a *Address) { a.Thread = strings.Repeat(":", 64<<10) }},
		{"no network", "main", func(a *Address) { a.Channel = "" }},
		{"network sub, which child keys use", "main", func(a *Address) { a.Channel = "sub" }},
		{"network agent, with which child keys begin", "main", func(a *Address) { a.Channel = "agent" }},
		{"network dm, a kind", "main", func(a *Address) { a.Channel = "dm" }},
		{"network group, a kind", "main", func(a *Address) { a.Channel = "group" }},
		{"network channel, a kind", "main", func(a *Address) { a.Channel = "channel" }},
		{"network thread", "main", func(a *Address) { a.Channel = "thread" }},
		{"network in capitals", "main", func(a *Address) { a.Channel = "Signal" }},
		{"network that starts with a digit", "main", func(a *Address) { a.Channel = "3cx" }},
		{"network that starts with a dash", "main", func(a *Address) { a.Channel = "-irc" }},
		{"network with an underscore", "main", func(a *Address) { a.Channel = "i_rc" }},
		{"network with a dot", "main", func(a *Address) { a.Channel = "i.rc" }},
		{"network with a separator", "main", func(a *Address) { a.Channel = "irc:dm" }},
		{"network with an escape", "main", func(a *Address) { a.Channel = "irc%3A" }},
		{"network of another alphabet", "main", func(a *Address) { a.Channel = "тг" }},
		{"network of 33 bytes", "main", func(a *Address) { a.Channel = strings.Repeat("n", MaxName+1) }},
		{"no kind", "main", func(a *Address) { a.Kind = "" }},
		{"unknown kind", "main", func(a *Address) { a.Kind = "dm:x" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := good
			if tc.change != nil {
				tc.change(&a)
			}
			k, err := For(tc.agent, a)
			if !errors.Is(err, ErrInvalid) || !k.IsZero() {
				t.Fatalf("For gives %v, %v; want no key and ErrInvalid", k, err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error repeats the stranger's text: %d bytes", len(err.Error()))
			}
		})
	}
}

func TestTextsThatNoKeyHasAreRefused(t *testing.T) {
	t.Parallel()
	nine := "main:a:signal:dm:p"
	for d := 1; d <= 9; d++ {
		nine = "agent:x:sub:" + string(rune('0'+d)) + ":" + nine
	}
	for name, s := range map[string]string{
		"empty":                           "",
		"one word":                        "main",
		"four parts":                      "main:a:signal:dm",
		"six parts":                       "main:a:signal:dm:p:thread",
		"eight parts":                     "main:a:signal:dm:p:thread:t:x",
		"thread misspelled":               "main:a:signal:dm:p:topic:t",
		"empty account":                   "main::signal:dm:p",
		"empty thread":                    "main:a:signal:dm:p:thread:",
		"unneeded escape":                 "main:a:signal:dm:%41",
		"lower-case escape":               "main:a:signal:dm:%3a",
		"escape cut short":                "main:a:signal:dm:p%3",
		"lone percent sign":               "main:a:signal:dm:%",
		"raw space":                       "main:a:signal:dm:p q",
		"raw newline at the end":          "main:a:signal:dm:p\n",
		"raw byte above ASCII":            "main:a:signal:dm:é",
		"field of 256 bytes":              "main:a:signal:dm:" + strings.Repeat("p", MaxField+1),
		"field of 256 escaped bytes":      "main:a:signal:dm:" + strings.Repeat("%20", MaxField+1),
		"64 KiB":                          "main:a:signal:dm:" + strings.Repeat("p", 64<<10),
		"64 KiB of levels":                strings.Repeat("agent:x:sub:1:", 5000) + "main:a:signal:dm:p",
		"empty network":                   "main:a::dm:p",
		"network in capitals":             "main:a:Signal:dm:p",
		"a kind where the network stands": "main:a:dm:dm:p",
		"network of 33 bytes":             "main:a:" + strings.Repeat("n", MaxName+1) + ":dm:p",
		"agent as a main agent":           "agent:a:signal:dm:p",
		"sub without a parent":            "agent:x:sub:1:",
		"sub of another word":             "agent:x:sup:1:main:a:signal:dm:p",
		"depth zero":                      "agent:x:sub:0:main:a:signal:dm:p",
		"depth with a leading zero":       "agent:x:sub:01:main:a:signal:dm:p",
		"depth with a plus":               "agent:x:sub:+1:main:a:signal:dm:p",
		"depth that skips":                "agent:x:sub:2:main:a:signal:dm:p",
		"depths in the wrong order":       "agent:x:sub:1:agent:y:sub:2:main:a:signal:dm:p",
		"nine levels":                     nine,
		"child agent is the reserved one": "agent:agent:sub:1:main:a:signal:dm:p",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := Parse(s)
			if !errors.Is(err, ErrInvalid) || !k.IsZero() {
				t.Fatalf("Parse(%.60q) gives %v, %v; want no key and ErrInvalid", s, k, err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error repeats the text: %d bytes", len(err.Error()))
			}
		})
	}
}

// Names, ids and agents that are made of the grammar's own words and signs.
func TestTwoPlacesNeverShareAKeyWhateverTheirNetworkIsCalled(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"agent", "sub", "dm", "group", "channel", "thread", "main", "a", "a-1", "sub-1", "threads", "1", ":", "%", "dm:x", "thread:1", ""})
	agents := rapid.SampledFrom([]string{"main", "a", "sub", "dm", "thread", "1"})
	type place struct {
		agent string
		at    Address
		child string
	}
	places := rapid.Custom(func(t *rapid.T) place {
		return place{agents.Draw(t, "agent"), Address{
			Channel: words.Draw(t, "network"), Account: words.Draw(t, "account"),
			Kind: rapid.SampledFrom([]Kind{DM, Group, Channel}).Draw(t, "kind"),
			Peer: words.Draw(t, "peer"), Thread: words.Draw(t, "thread"),
		}, rapid.SampledFrom([]string{"", "a", "sub", "main"}).Draw(t, "child")}
	})
	key := func(p place) (Key, bool) {
		k, err := For(p.agent, p.at)
		if err == nil && p.child != "" {
			k, err = k.Child(p.child)
		}
		return k, err == nil
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := places.Draw(t, "a"), places.Draw(t, "b")
		ka, ok := key(a)
		if !ok {
			return
		}
		if again, err := Parse(ka.String()); err != nil || again != ka || again.Address() != a.at || again.Root().Agent() != a.agent {
			t.Fatalf("%s of %+v is read as %s at %+v: %v", ka, a, again, again.Address(), err)
		}
		if kb, ok := key(b); ok && (ka == kb || ka.Token() == kb.Token()) != (a == b) {
			t.Fatalf("%+v and %+v: keys %s and %s", a, b, ka, kb)
		}
	})
}

func TestAChildKeyIsItsParentWithOneLevelMore(t *testing.T) {
	t.Parallel()
	a := Address{Channel: "telegram", Account: "7", Kind: Group, Peer: "-100", Thread: "5"}
	root := mustFor(t, "main", a)
	k := root
	for d := 1; d <= MaxDepth; d++ {
		child, err := k.Child("helper")
		if err != nil {
			t.Fatalf("child at depth %d: %v", d, err)
		}
		again, err := Parse(child.String())
		if err != nil || again != child {
			t.Fatalf("Parse(%s) = %v, %v", child, again, err)
		}
		if p, ok := child.Parent(); !ok || p != k {
			t.Fatalf("parent of %s is %s, %v", child, p, ok)
		}
		if child.Depth() != d || child.Root() != root || child.Agent() != "helper" || child.Address() != a {
			t.Fatalf("%s: depth %d, root %s, agent %s, address %+v", child, child.Depth(), child.Root(), child.Agent(), child.Address())
		}
		k = child
	}
	if k.String()[:len("agent:helper:sub:8:")] != "agent:helper:sub:8:" {
		t.Errorf("T03: the deepest child is %s", k)
	}
	if _, err := k.Child("helper"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a ninth level gives %v", err)
	}
	if _, err := root.Child("agent"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a child of the reserved name gives %v", err)
	}
	if _, err := (Key{}).Child("helper"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a child of no key gives %v", err)
	}
	if _, ok := root.Parent(); ok {
		t.Error("a main key has a parent")
	}
}

func TestATextLongerThanAnyKeyIsRefusedBeforeItIsTakenApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(":", 1<<20)
	if _, err := Parse(long); err == nil || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Errorf("a megabyte of separators gives %v", err)
	}
}

func TestTheLongestKeyIsParsed(t *testing.T) {
	t.Parallel()
	all := strings.Repeat("\x00", MaxField)
	k := mustFor(t, strings.Repeat("a", MaxName), Address{Channel: strings.Repeat("n", MaxName), Account: all, Kind: Channel, Peer: all, Thread: all})
	for range MaxDepth {
		var err error
		if k, err = k.Child(strings.Repeat("b", MaxName)); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := Parse(k.String()); err != nil || again != k {
		t.Errorf("Parse of %d bytes: %v", len(k.String()), err)
	}
	if len(k.String()) > 3<<10 {
		t.Errorf("the longest key has %d bytes, documented are 3 KiB", len(k.String()))
	}
}

func TestKeysTravelInJSON(t *testing.T) {
	t.Parallel()
	type row struct {
		Key  Key         `json:"key"`
		None Key         `json:"none"`
		Zero Key         `json:"zero,omitzero"`
		By   map[Key]int `json:"by"`
	}
	k := mustFor(t, "main", Address{Channel: "signal", Account: "+1", Kind: DM, Peer: "a:b"})
	b, err := json.Marshal(row{Key: k, By: map[Key]int{k: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(b), `{"key":"main:+1:signal:dm:a%3Ab","none":"","by":{"main:+1:signal:dm:a%3Ab":1}}`; got != want {
		t.Errorf("JSON is %s, want %s", got, want)
	}
	var back row
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.Key != k || !back.None.IsZero() || back.By[k] != 1 {
		t.Errorf("came back as %+v", back)
	}
	if err := json.Unmarshal([]byte(`{"key":"main:+1:signal:dm:a:b"}`), &back); !errors.Is(err, ErrInvalid) {
		t.Errorf("a bad key in JSON gives %v", err)
	}
}

func TestTheZeroKeyIsNone(t *testing.T) {
	t.Parallel()
	var k Key
	if !k.IsZero() || k.String() != "" || k.Agent() != "" || k.Depth() != 0 || k.Root() != k || k.Address() != (Address{}) {
		t.Errorf("the zero key is %q of %q at %+v", k, k.Agent(), k.Address())
	}
	if _, ok := k.Parent(); ok {
		t.Error("the zero key has a parent")
	}
}
