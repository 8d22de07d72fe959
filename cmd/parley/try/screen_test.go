package try

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/simulators/telegram"
)

func sent(id int64, text string) shownMessage {
	s, _ := fromTelegram(telegram.Happening{Kind: "sent", ChatID: 1, MessageID: id, Text: text})
	return s
}

func edited(id int64, text string) shownMessage {
	s, _ := fromTelegram(telegram.Happening{Kind: "edited", ChatID: 1, MessageID: id, Text: text})
	return s
}

func TestOnlyMessagesAreSeen(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{"sent": true, "edited": true, "action": false, "reaction": false, "deleted": false, "draft": false} {
		if _, seen := fromTelegram(telegram.Happening{Kind: kind, Text: "typing"}); seen != want {
			t.Errorf("%s is seen: %v", kind, seen)
		}
	}
}

func TestWhatGrowsInTheChatGrowsOnTheScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		seen []shownMessage
		want string
	}{
		{"grows", []shownMessage{sent(1, "one"), edited(1, "one two"), edited(1, "one two"), edited(1, "one two\nthree")}, "parley: one two\nthree\n"},
		{"a changed line is printed again", []shownMessage{sent(1, "a\nbc"), edited(1, "a\nbd e")}, "parley: a\nbc\nbd e\n"},
		{"a changed first line", []shownMessage{sent(1, "ab"), edited(1, "cb\nd")}, "parley: ab\ncb\nd\n"},
		{"shorter", []shownMessage{sent(1, "ab"), edited(1, "a")}, "parley: ab\na\n"},
		{"letters that share their first byte", []shownMessage{sent(1, "é\nü"), edited(1, "é\nö")}, "parley: é\nü\nö\n"},
		{"two messages", []shownMessage{sent(1, "a"), sent(2, "b"), edited(2, "bc")}, "parley: a\nparley: bc\n"},
		{"an earlier message", []shownMessage{sent(1, "a"), sent(2, "b"), edited(1, "c")}, "parley: a\nparley: b\nparley: c\n"},
	} {
		var out strings.Builder
		s := screen{out: &out}
		for _, h := range c.seen {
			s.show(h)
		}
		s.end()
		if got := out.String(); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

func TestAnEditAfterThePromptDoesNotRunIntoIt(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := screen{out: &out}
	s.show(sent(1, "a"))
	s.begin("ann> ")
	s.show(edited(1, "ab"))
	s.begin("ann> ")
	s.resetLine() // the person's return key
	s.printLine("done")
	if got, want := out.String(), "parley: a\nann> \nparley: ab\nann> done\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// Whatever edits come, each piece that is written is whole text, and the last
// version's last line stands at the end.
func FuzzScreen(f *testing.F) {
	f.Add("one", "one two", "ünö\n")
	f.Add("é\nü", "é\nö", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, text := range []string{a, b, c} {
			if !utf8.ValidString(text) {
				return
			}
		}
		w := &whole{t: t}
		s := screen{out: w}
		for i, text := range []string{a, b, c} {
			h := edited(1, text)
			h.edited = i > 0
			s.show(h)
		}
		if line := c[strings.LastIndexByte(c, '\n')+1:]; !strings.HasSuffix(w.all, line) {
			t.Errorf("%q does not end with %q", w.all, line)
		}
	})
}

// whole wants valid text in each write.
type whole struct {
	t   *testing.T
	all string
}

func (w *whole) Write(p []byte) (int, error) {
	if !utf8.Valid(p) {
		w.t.Errorf("%q is cut inside a letter", p)
	}
	w.all += string(p)
	return len(p), nil
}
