package terminal_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley/cmd/parley/terminal"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"short", "one two", "one two"},
		{"between words", "one two three four", "one two|three four"},
		{"exactly as wide", "0123456789 x", "0123456789|x"},
		{"a long word", "a 0123456789abc d", "a|0123456789|abc d"},
		{"lines and empty ones", "one\n\ntwo ", "one||two "},
		{"indented", "  one two three", "  one two|three"},
		{"blanks at a break", "0123456789   x", "0123456789|  x"},
		{"wide letters", "漢字漢字漢字", "漢字漢字漢|字"},
		{"a family is one letter", "👩‍👩‍👧 a b c d e", "👩‍👩‍👧 a b c d|e"},
		{"tabs", "\tx\ty", "    x   y"},
		{"orders to the terminal", "a\x1b[2Jb\rc\u009bd", "a[2Jbcd"},
		{"nothing", "", ""},
	} {
		var got []string
		for _, r := range terminal.Wrap(c.text, 10) {
			got = append(got, r.Text)
			if rest := c.text[r.Start:]; c.name != "orders to the terminal" && !strings.HasPrefix(strings.ReplaceAll(rest, "\t", "    "), strings.TrimRight(r.Text, " ")[:min(1, len(strings.TrimRight(r.Text, " ")))]) {
				t.Errorf("%s: %q does not begin at %d", c.name, r.Text, r.Start)
			}
		}
		if all := strings.Join(got, "|"); all != c.want {
			t.Errorf("%s: %q, not %q", c.name, all, c.want)
		}
	}
}

// Whatever the text, no row is wider than it may be unless it is one letter, no letter but blanks
// is lost, and nothing is left that a terminal obeys.
func FuzzWrap(f *testing.F) {
	f.Add("one two three", 5)
	f.Add("  漢字\tx\x1b[A\n\n👩‍👩‍👧", 3)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		if !utf8.ValidString(text) || columns < 1 || columns > 200 {
			return
		}
		var all strings.Builder
		start := 0
		for _, r := range terminal.Wrap(text, columns) {
			if w := terminal.Width(r.Text); w > columns && w > 2 && utf8.RuneCountInString(r.Text) > 8 {
				t.Errorf("%q takes %d of %d columns", r.Text, w, columns)
			}
			if strings.ContainsFunc(r.Text, unicode.IsControl) {
				t.Errorf("%q has orders", r.Text)
			}
			if r.Start < start || r.Start > len(text) {
				t.Errorf("%q begins at %d behind %d", r.Text, r.Start, start)
			}
			start = r.Start
			all.WriteString(r.Text)
		}
		if got, want := letters(all.String()), letters(text); got != want {
			t.Errorf("%q has become %q", want, got)
		}
	})
}

// letters leaves out blanks and what Wrap takes out.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\u2028' || r == '\u2029' || unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}
