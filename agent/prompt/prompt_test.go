package prompt_test

import (
	"strings"
	"testing"
	"time"

	"parley/agent/prompt"
	"parley/sessionkeys"
)

func key(t *testing.T, kind sessionkeys.Kind, peer string) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: kind, Peer: peer})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Providers cache a prefix byte for byte.
func TestTheStableBlockIsTheSameInEveryConversationAtEveryTime(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"", "You are a pirate.", "  some\nlines \n"} {
		want := prompt.Build(own, key(t, sessionkeys.DM, "1"), noon)[0]
		for _, k := range []sessionkeys.Key{key(t, sessionkeys.DM, "2"), key(t, sessionkeys.Group, "-5")} {
			for _, at := range []time.Time{noon, noon.Add(24 * time.Hour), noon.In(time.FixedZone("x", 3600))} {
				bs := prompt.Build(own, k, at)
				if bs[0] != want || !bs[0].Cache {
					t.Errorf("%q: %+v, not %+v", own, bs[0], want)
				}
				for _, b := range bs[1:] {
					if b.Cache {
						t.Errorf("%q: what changes is cached: %+v", own, b)
					}
				}
			}
		}
		if !strings.HasSuffix(want.Text, strings.TrimSpace(own)) {
			t.Errorf("%q is not at the end of %q", own, want.Text)
		}
	}
}

func TestWhatChangesSaysWhereAndWhen(t *testing.T) {
	t.Parallel()
	text := func(k sessionkeys.Key, at time.Time) string { return prompt.Build("", k, at)[1].Text }
	if got := text(key(t, sessionkeys.DM, "1"), noon); !strings.Contains(got, "direct message") || !strings.Contains(got, "Friday, 1 May 2026") {
		t.Errorf("%q", got)
	}
	late := time.Date(2026, 5, 1, 23, 30, 0, 0, time.FixedZone("west", -3600*2))
	if got := text(key(t, sessionkeys.Group, "-5"), late); !strings.Contains(got, "group") || !strings.Contains(got, "Saturday, 2 May 2026") {
		t.Errorf("%q", got)
	}
	// Within a day the whole message stays the same.
	if text(key(t, sessionkeys.DM, "1"), noon) != text(key(t, sessionkeys.DM, "2"), noon.Add(11*time.Hour)) {
		t.Error("it changes within a day")
	}
}
