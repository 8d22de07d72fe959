package files

import (
	"slices"
	"strings"
	"testing"
)

func TestTextIsReplacedExactlyOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, old, new, want, err string
		all                             bool
		lines                           []int
	}{
		{name: "in the middle", text: "a\nb\nc\n", old: "b", new: "B", want: "a\nB\nc\n", lines: []int{2}},
		{name: "taken out", text: "a\nb\nc\n", old: "b\n", want: "a\nc\n", lines: []int{2}},
		{name: "all", text: "a.a\na\n", old: "a", new: "aa", all: true, want: "aa.aa\naa\n", lines: []int{1, 1, 2}},
		{name: "twice", text: "a\nb\na\n", old: "a", new: "x", err: "old_text occurs more than once (lines 1, 3); add"},
		{name: "often", text: strings.Repeat("a\n", 20), old: "a", new: "x", err: "(lines 1, 2, 3, 4, 5 and more)"},
		{name: "overlapping", text: "aaa", old: "aa", new: "x", err: "more than once"},
		{name: "overlapping, all", text: "aaa", old: "aa", new: "x", all: true, want: "xa", lines: []int{1}},
		{name: "not there", text: "a\n", old: "b", new: "c", err: "old_text is not in the file; read the file"},
		{name: "other indentation", text: "x\n\tif a {\n\t\tb\n", old: "  if a {\n    b", new: "c", err: "but for white space (lines 2)"},
		{name: "CRLF is kept", text: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n", lines: []int{1}},
		{name: "CRLF, at the end of a line", text: "a\r\nb\r\n", old: "\nb", new: "", want: "a\r\n", lines: []int{1}},
		{name: "CRLF, given as such", text: "a\r\nb\r\n", old: "a\r\nb", new: "c\r\nd", want: "c\r\nd\r\n", lines: []int{1}},
		{name: "CRLF, a line more", text: "a\r\nb\r\n", old: "a", new: "a\nc", want: "a\r\nc\r\nb\r\n", lines: []int{1}},
		{name: "LF, given as CRLF", text: "a\nb\n", old: "a\r\nb", new: "c\r\nd", want: "c\nd\n", lines: []int{1}},
		{name: "mixed stays as it is", text: "a\r\nb\nc\r\n", old: "b\nc", new: "x", want: "a\r\nx\r\n", lines: []int{2}},
		{name: "lone returns", text: "a\r\r\nb\r\n", old: "b", new: "c", want: "a\r\r\nc\r\n", lines: []int{2}},
		{name: "bytes that are no text", text: "caf\xe9 b\n", old: "b", new: "c", want: "caf\xe9 c\n", lines: []int{1}},
	} {
		got, lines, err := replace(c.text, editInput{OldText: c.old, NewText: c.new, ReplaceAll: c.all}, 1000)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			continue
		}
		if got != c.want || err != nil || !slices.Equal(lines, c.lines) {
			t.Errorf("%s: %q on %v, %v, want %q on %v", c.name, got, lines, err, c.want, c.lines)
		}
	}
}

func FuzzAnEditKeepsLineEndsAndCanBeUndone(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c")
	f.Add("a\nb", "b", "c\r\nd")
	f.Add("a\nb\r\n", "a\nb", "0b")
	f.Fuzz(func(t *testing.T, text, old, with string) {
		if old == "" || with == "" || strings.Contains(old+with, "\r") {
			return
		}
		if strings.Contains(toUnixLines(text), "\r") {
			return // a return on its own may get a line feed behind it
		}
		changed, _, err := replace(text, editInput{OldText: old, NewText: with}, 1<<20)
		if err != nil {
			return
		}
		before, after := lineEnds(text), lineEnds(changed)
		if before == "CRLF" && after != "CRLF" && after != "none" || before == "LF" && strings.Contains(changed, "\r\n") != strings.Contains(text, "\r\n") {
			t.Fatalf("%q has other line ends than %q", changed, text)
		}
		back, _, err := replace(changed, editInput{OldText: with, NewText: old}, 1<<20)
		if err == nil && before == after && back != text {
			t.Fatalf("%q became %q and then %q", text, changed, back)
		}
	})
}

func lineEnds(text string) string {
	breaks, pairs := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case breaks == 0:
		return "none"
	case pairs == 0:
		return "LF"
	case pairs == breaks:
		return "CRLF"
	}
	return "mixed"
}
