package markup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// check is everything that must hold for any input.
func check(md string, o TelegramOptions) error {
	ms := Telegram(md, o)
	limit := max(minUnits, min(o.Units, TelegramUnits))
	if o.Units == 0 {
		limit = TelegramDefault
	}
	var joined strings.Builder
	for i, m := range ms {
		joined.WriteString(m.Text)
		if !utf8.ValidString(m.Text) {
			return fmt.Errorf("part %d is not UTF-8: %q", i, m.Text)
		}
		if !IsVisible(m.Text) {
			return fmt.Errorf("part %d shows nothing: %q", i, m.Text)
		}
		units := utf16.Encode([]rune(m.Text))
		if len(units) > limit {
			return fmt.Errorf("part %d has %d units of at most %d", i, len(units), limit)
		}
		if len(m.Entities) > TelegramEntities {
			return fmt.Errorf("part %d has %d entities", i, len(m.Entities))
		}
		if err := checkEntities(units, m.Entities); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return checkWords(md, joined.String())
}

func checkEntities(units []uint16, es []Entity) error {
	low := func(i int) bool { return i < len(units) && units[i] >= 0xDC00 && units[i] <= 0xDFFF }
	for i, a := range es {
		end := a.Offset + a.Length
		if a.Offset < 0 || a.Length <= 0 || end > len(units) {
			return fmt.Errorf("%+v is outside of %d units", a, len(units))
		}
		if low(a.Offset) || low(end) {
			return fmt.Errorf("%+v cuts a surrogate pair", a)
		}
		if last := rune(units[end-1]); unicode.IsSpace(last) {
			return fmt.Errorf("%+v ends in space", a)
		}
		for _, b := range es[i+1:] {
			bEnd := b.Offset + b.Length
			if b.Offset < a.Offset {
				return fmt.Errorf("%+v stands before %+v", a, b)
			}
			if b.Offset < end && bEnd > end {
				return fmt.Errorf("%+v and %+v cross", a, b)
			}
			if b.Offset < end && !mayHold(a.Type, b.Type) {
				return fmt.Errorf("%+v may not hold %+v", a, b)
			}
		}
	}
	return nil
}

// mayHold is the Bot API's rule of which entities combine.
func mayHold(outer, inner string) bool {
	code := []string{"code", "pre"}
	quote := []string{"blockquote", "expandable_blockquote"}
	switch {
	case slices.Contains(code, outer):
		return false
	case slices.Contains(quote, outer):
		return !slices.Contains(quote, inner)
	case outer == inner:
		return false
	case outer == "text_link":
		return !slices.Contains(code, inner)
	}
	return !slices.Contains(code, inner) && !slices.Contains(quote, inner)
}

// checkWords holds the parts against the whole text as laid out: nothing but
// spaces, and parts nobody could see, may be missing.
func checkWords(md, got string) error {
	solid := func(s string) string {
		return strings.Map(func(r rune) rune {
			if !isVisibleRune(r) {
				return -1
			}
			return r
		}, s)
	}
	whole := layout{tableWidth: 34, longQuote: 1000}.flatten(Parse(md)).text
	if solid(whole) != solid(got) {
		return fmt.Errorf("characters are missing: %q became %q", whole, got)
	}
	return nil
}

func markdownText() *rapid.Generator[string] {
	word := rapid.OneOf(
		rapid.SampledFrom([]string{
			"**", "*", "_", "~~", "||", "`", "``", "```", "~~~", "```go\n", "\n", "\n\n", "> ", ">> ", "- ", "  - ", "    ", "1. ",
			"# ", "| a | b |\n|---|:-:|\n| c | d |\n", "[", "](", "https://a.example/x", ")", "![", "<b>", "</b>", "<!--", "-->", "&amp;", "&#0;",
			"\\", "👍", "👨‍👩‍👧‍👦", "e\u0301", "\u202e", "\x00", "\xff", "\r\n", "- [x] ", "---\n", "www.a.example", "🇩🇪", "。", ". ", "|", "\u00a0", "\u200d",
		}),
		rapid.StringN(0, 12, -1),
		rapid.StringMatching(`[a-z]{1,12} `),
	)
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "words"), "")
		return strings.Repeat(s, rapid.IntRange(1, 30).Draw(t, "times"))
	})
}

func TestEveryMessageKeepsTheLimitsAndLosesNoWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		md := markdownText().Draw(t, "markdown")
		if err := check(md, TelegramOptions{Units: rapid.SampledFrom([]int{0, 1, 64, 100, 500, 4096, 9999}).Draw(t, "units")}); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzTelegramKeepsItsLimits(f *testing.F) {
	for _, s := range []string{"**a** _b_", "```go\nx\n", "> q\n> > r", "|a|b|\n|-|-|\n|c|d|", "||s||", "- a\n  - b\n\n    c", "[a](http://x)**", "***a** b*", "👨‍👩‍👧‍👦", "*a **b***c**", "> `> `"} {
		f.Add(s, 0)
		f.Add(strings.Repeat(s, 50), 64)
	}
	f.Fuzz(func(t *testing.T, md string, units int) {
		if len(md) > 1<<14 {
			md = md[:1<<14]
		}
		if err := check(md, TelegramOptions{Units: units}); err != nil {
			t.Fatal(err)
		}
	})
}
