package markup

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEveryMessageForSignalKeepsItsLimitsAndLosesNoWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		md := markdownText().Draw(t, "markdown")
		var joined strings.Builder
		for i, m := range Signal(md, SignalOptions{}) {
			joined.WriteString(m.Text)
			if !utf8.ValidString(m.Text) || len(m.Text) > SignalBytes || !IsVisible(m.Text) || len(m.Styles) > SignalStyles {
				t.Fatalf("part %d: %d bytes, %d styles: %q", i, len(m.Text), len(m.Styles), m.Text)
			}
			units := utf16.Encode([]rune(m.Text))
			low := func(at int) bool { return at < len(units) && units[at] >= 0xDC00 && units[at] <= 0xDFFF }
			for _, s := range m.Styles {
				if s.Start < 0 || s.Length <= 0 || s.Start+s.Length > len(units) || low(s.Start) || low(s.Start+s.Length) {
					t.Fatalf("part %d: %+v of %d units", i, s, len(units))
				}
			}
		}
		solid := func(s string) string {
			return strings.Map(func(r rune) rune {
				if !isVisibleRune(r) {
					return -1
				}
				return r
			}, s)
		}
		if whole := (layout{tableWidth: -1, spelled: true}).flatten(Parse(md)).text; solid(whole) != solid(joined.String()) {
			t.Fatalf("characters are missing: %q became %q", whole, joined.String())
		}
	})
}

func TestSignalSpellsWhatItCannotShow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[a](https://a.example/x) b":       "a (https://a.example/x) b",
		"https://a.example/x":              "https://a.example/x",
		"> one\n> two\n>\n> three\n\nfour": "> one\n> two\n>\n> three\n\nfour",
		"- a\n  - b":                       "• a\n  • b",
		"|h|i|\n|-|-|\n|1|2|":              "• h: 1\n  i: 2",
	} {
		got := Signal(in, SignalOptions{})
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("Signal(%q) = %+v, want %q", in, got, want)
		}
	}
	got := Signal("**b [l](https://a.example/x)** ||s|| `c` ~~d~~ _i_", SignalOptions{})
	if len(got) != 1 || len(got[0].Styles) < 5 || got[0].Styles[0].Style != "BOLD" || got[0].Styles[0].Start != 0 {
		t.Errorf("%+v", got)
	}
}
