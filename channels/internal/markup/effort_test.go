package markup

import (
	"fmt"
	"strings"
	"testing"
)

// hostileTexts are what the parser takes longest for, each as long as a document
// that is read at all, or a part of that.
func hostileTexts() map[string]string {
	out := map[string]string{
		"a table of few wide and many short rows": strings.Repeat("|a", 3000) + "\n" + strings.Repeat("|-", 3000) + "\n" + strings.Repeat("|a\n", 30_000),
	}
	for _, unit := range []string{
		">", "> ", "- ", "[", "![", "*", "**a ", "_a ", "~~a", "||a", "`", "`a``b", "<", "<a", "[a](", "[a", "a|", "|", "|-", "&", "\\", "1. ", "1) ", "# ",
		"\n>", "  - a\n", "[a]: b\n", "![[]()", "*a_", "_*a", "http://a ", "a@b.c ", "<!--", "(", "]", "$", "\u0301", "👨‍", "-\n", "[x]\n", "```\n", "* * * ",
		"[a](b", "[a](<b", "![a](", "a**b", "***a", "**a**b", "[a]\n", "<a b=", "> - ", "~a~b",
	} {
		out[fmt.Sprintf("%q repeated", unit)] = strings.Repeat(unit, longest/len(unit))
	}
	for name, md := range out {
		out[name] = md[:min(len(md), longest)]
	}
	return out
}

// A model must not be able to stop the gateway with a text. What is counted here
// is what the parser may do, and the rest of its work grows with the length alone.
func TestHostileTextIsReadWithinItsBounds(t *testing.T) {
	t.Parallel()
	for name, md := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &budget{maxSteps}
			blocks := parse(Clean(md), e)
			if e.steps < 0 {
				t.Errorf("%d steps more than a document may take", -e.steps)
			}
			cells := 0
			for _, b := range blocks {
				if b.Indent > maxNesting {
					t.Errorf("a block stands in %d lists", b.Indent)
				}
				for _, row := range b.Rows {
					cells += len(row)
				}
			}
			if cells > maxCells {
				t.Errorf("%d cells", cells)
			}
			if err := checkWords(md, strings.Join(texts(Telegram(md, TelegramOptions{})), "")); err != nil {
				t.Errorf("characters are missing: %.300v", err)
			}
		})
	}
}

func TestMarksPastTheBoundAreText(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("*a_b ", 4000)
	for left, want := range map[int]string{maxSteps: "ab", 0: "*ab*"} {
		if got := parse("*ab*", &budget{left}); len(got) != 1 || got[0].Text != want {
			t.Errorf("with %d steps: %+v", left, got)
		}
	}
	e := &budget{maxSteps}
	got := parse(word+"\n\n# *a* ~~b~~ [c](http://d.example) `e` ||f|| <http://g.example>", e)
	if e.steps > len(word) {
		t.Fatalf("%d steps are left: this text is not hostile", e.steps)
	}
	if !strings.HasSuffix(got[0].Text, "*a_b *a_b") {
		t.Errorf("the end of the first paragraph is %q", got[0].Text[len(got[0].Text)-20:])
	}
	if last := got[len(got)-1]; last.Kind != Heading || !strings.Contains(last.Text, "f") {
		t.Errorf("what comes after it: %+v", last)
	}
}

func TestWhatPeopleWriteIsFarFromTheBounds(t *testing.T) {
	t.Parallel()
	line := "Some *words* with **many** `marks` and [a link](https://a.example/b_c), ~~more~~ of ||them|| (and *again*). "
	const entities = 7 // each line's
	for name, md := range map[string]string{
		"a long answer":           strings.Repeat(line+line+"\n\n", 200),
		"a paragraph without end": strings.Repeat(line, 80),
		"a list":                  strings.Repeat("- "+line+"\n", 400),
		"a list in lists":         strings.Repeat("- ", maxNesting) + line,
	} {
		e := &budget{maxSteps}
		found := 0
		for _, b := range parse(md, e) {
			found += len(b.Spans)
		}
		if want := entities * strings.Count(md, line); found != want {
			t.Errorf("%s: %d of %d marks", name, found, want)
		}
		if e.steps < maxSteps/4 {
			t.Errorf("%s: %d of %d steps are left", name, e.steps, maxSteps)
		}
	}
}

func TestMonstersAreShownAsTheyStand(t *testing.T) {
	t.Parallel()
	table := func(rows int) string { // with a hundred columns, 101 marks in a line
		return strings.Repeat("|a", 100) + "|\n" + strings.Repeat("|-", 100) + "|\n" + strings.Repeat("|b|\n", rows)
	}
	definitions := func(n int) string { return strings.Repeat("[a]: http://b.example\n", n) }
	for name, c := range map[string]struct {
		md    string
		plain bool
	}{
		"a table of as many cells as may be": {table(maxCells/102 - 2), false},
		"a table of more":                    {table(maxCells/102 - 1), true},
		"as many definitions as may be":      {definitions(maxReferences), false},
		"more definitions":                   {definitions(maxReferences + 1), true},
		"as many lists on a line as may be":  {strings.Repeat("1. ", maxNesting) + "a", false},
		"more lists on a line":               {strings.Repeat("1. ", maxNesting+1) + "a", true},
		"more quotes on a line":              {"a\n\n" + strings.Repeat(">", maxNesting+1) + "a", true},
		"the longest document":               {"*a*" + strings.Repeat("b", maxParsed-3), false},
		"a longer document":                  {"*a*" + strings.Repeat("b", maxParsed-2), true},
	} {
		got := Parse(c.md)
		plain := len(got) == 1 && got[0].Kind == Paragraph && strings.TrimSpace(got[0].Text) == strings.TrimSpace(c.md)
		if plain != c.plain {
			t.Errorf("%s: shown as it stands is %v: %d blocks", name, plain, len(got))
		}
	}
}

// What it takes to render the worst texts, in all.
func BenchmarkHostileTexts(b *testing.B) {
	for b.Loop() {
		for _, md := range hostileTexts() {
			Telegram(md, TelegramOptions{})
		}
	}
}
