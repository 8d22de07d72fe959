package signal

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A text is made of pieces, each plain or a mention, so that what must come of
// it is known without counting units.
func TestNamesStandWherePlaceholdersStood(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SampledFrom([]string{"a", "hi ", "👍", "👨‍👩‍👧", "e\u0301", "\n", "Ä", "\uFFFC", ","})
		var sent, want strings.Builder
		var ms []mention
		want.WriteString("x") // so that no mention opens the text
		sent.WriteString("x")
		ours := false
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				s := plain.Draw(t, "plain")
				sent.WriteString(s)
				want.WriteString(s)
			default:
				m := mention{Name: rapid.SampledFrom([]string{"Ann", "😀", "a b"}).Draw(t, "name"), Start: len(utf16.Encode([]rune(sent.String()))), Length: 1}
				if rapid.Bool().Draw(t, "ours") {
					m.UUID, ours = "us", true
				}
				ms = append(ms, m)
				sent.WriteString("\uFFFC")
				want.WriteString("@" + m.Name)
			}
		}
		shuffled := rapid.Permutation(ms).Draw(t, "order")
		got := resolveMentions(sent.String(), shuffled, func(m mention) bool { return m.UUID == "us" })
		if got.text != want.String() || got.mentioned != ours {
			t.Fatalf("%q with %+v became %q, %v, want %q, %v", sent.String(), shuffled, got.text, got.mentioned, want.String(), ours)
		}
	})
}

func TestRangesFromStrangersNeverBreakAText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a \uFFFC👍é,:\n"))).Draw(t, "text")
		ms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mention {
			return mention{
				Name: rapid.String().Draw(t, "name"), Start: rapid.IntRange(-3, 40).Draw(t, "start"),
				Length: rapid.IntRange(-2, 40).Draw(t, "length"), UUID: rapid.SampledFrom([]string{"", "us"}).Draw(t, "uuid"),
			}
		}), 0, 8).Draw(t, "mentions")
		got := resolveMentions(text, ms, func(m mention) bool { return m.UUID == "us" })
		came := text // and with the names
		for _, m := range ms {
			came += m.Name
		}
		if !utf8.ValidString(got.text) || strings.ContainsRune(got.text, utf8.RuneError) && !strings.ContainsRune(came, utf8.RuneError) {
			t.Fatalf("%q with %+v became %q", text, ms, got.text)
		}
	})
}
