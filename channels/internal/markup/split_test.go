package markup

import (
	"strings"
	"testing"
)

func texts(ms []Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}

func TestRow07_LongTextIsPartedWhereAReaderWould(t *testing.T) {
	t.Parallel()
	o := TelegramOptions{Units: 64}
	for name, c := range map[string]struct {
		md   string
		want []string
	}{
		"between paragraphs": {
			"A first paragraph of some words. Two.\n\nA second paragraph of as many words.",
			[]string{"A first paragraph of some words. Two.", "A second paragraph of as many words."},
		},
		"between lines": {
			"A first line without any stop in it\nA second line without any stop in it",
			[]string{"A first line without any stop in it", "A second line without any stop in it"},
		},
		"between sentences": {
			"One sentence that is not so short ends. Another one that is long begins",
			[]string{"One sentence that is not so short ends.", "Another one that is long begins"},
		},
		"between words": {
			strings.Repeat("word ", 20), []string{strings.TrimSpace(strings.Repeat("word ", 13)), strings.TrimSpace(strings.Repeat("word ", 7))},
		},
		"between characters as people see them": {
			strings.Repeat("👨‍👩‍👧‍👦", 7), []string{strings.Repeat("👨‍👩‍👧‍👦", 5), strings.Repeat("👨‍👩‍👧‍👦", 2)},
		},
		"a heading stays with its text": {
			"Some words to fill this message.\n\n# Head\n\nThe text under the head is this.",
			[]string{"Some words to fill this message.", "Head\n\nThe text under the head is this."},
		},
		"never in a link": {
			"These are enough words so that only a part of [a long label of a link](https://a.example) fits",
			[]string{"These are enough words so that only a part of", "a long label of a link fits"},
		},
		"before a link that no space precedes": {
			strings.Repeat("a", 50) + "[longlabelofalink](https://a.example)",
			[]string{strings.Repeat("a", 50), "longlabelofalink"},
		},
		"what nobody sees is no message": {
			strings.Repeat("\u200b", 300) + "word", []string{strings.Repeat("\u200b", 300%64) + "word"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := texts(Telegram(c.md, o)); strings.Join(got, "§") != strings.Join(c.want, "§") {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRow07_AFenceOverTheBoundaryIsOpenedAgainWithItsLanguage(t *testing.T) {
	t.Parallel()
	md := "Look:\n\n```go\n" + strings.Repeat("\tx := f(😀)\n", 20) + "```\n\nDone."
	ms := Telegram(md, TelegramOptions{Units: 100})
	if len(ms) < 3 {
		t.Fatalf("%d messages", len(ms))
	}
	for i, m := range ms[:len(ms)-1] {
		if len(m.Entities) != 1 || m.Entities[0].Type != "pre" || m.Entities[0].Language != "go" {
			t.Errorf("part %d: %+v", i, m.Entities)
		}
		if i > 0 && !strings.HasPrefix(m.Text, "\tx") {
			t.Errorf("part %d lost its indentation: %q", i, m.Text)
		}
	}
}

func TestRow07_TheLimitCountsUTF16Units(t *testing.T) {
	t.Parallel()
	ms := Telegram(strings.Repeat("😀", 4100), TelegramOptions{Units: 4096})
	if len(ms) != 3 || UTF16('😀')*strings.Count(ms[0].Text, "😀") != 4096 {
		t.Errorf("%d messages, the first of %d", len(ms), strings.Count(ms[0].Text, "😀"))
	}
	if ms := Telegram("**"+strings.Repeat("a", 4000)+"**", TelegramOptions{}); len(ms) != 1 {
		t.Errorf("marks count: %d messages", len(ms))
	}
}

func TestNoMessageHasMoreThanAHundredEntities(t *testing.T) {
	t.Parallel()
	ms := Telegram(strings.Repeat("**b** c ", 250), TelegramOptions{})
	if len(ms) != 3 || len(ms[0].Entities) > 100 || len(ms[0].Entities) < 34 {
		t.Errorf("%d messages, the first with %d entities", len(ms), len(ms[0].Entities))
	}
}

func TestALongTableRepeatsItsHeader(t *testing.T) {
	t.Parallel()
	ms := Telegram("| id | name |\n|---|---|\n"+strings.Repeat("| 12 | somebody |\n", 400), TelegramOptions{})
	if len(ms) < 2 {
		t.Fatalf("%d messages", len(ms))
	}
	for i, m := range ms {
		if !strings.HasPrefix(m.Text, "id | name\n---+---") {
			t.Errorf("part %d begins %.40q", i, m.Text)
		}
	}
}

func TestUnfinishedMarkdownIsShownAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	ms := Telegram("Here:\n\n```py\nprint(1)\nprin", TelegramOptions{})
	if len(ms) != 1 || len(ms[0].Entities) != 1 || ms[0].Entities[0].Language != "py" {
		t.Errorf("%+v", ms)
	}
}
