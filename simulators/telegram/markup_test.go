package telegram

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestMarkupBecomesEntities(t *testing.T) {
	t.Parallel()
	e := func(kind string, offset, length int) Entity {
		return Entity{Type: kind, Offset: offset, Length: length}
	}
	link := e("text_link", 0, 4)
	link.URL = "https://example.org/a_b"
	pre := e("pre", 0, 5)
	pre.Language = "go"
	for _, c := range []struct {
		mode, in, text string
		want           []Entity
	}{
		{"HTML", "a <b>bold <i>both</i></b> &lt;3", "a bold both <3", []Entity{e("bold", 2, 9), e("italic", 7, 4)}},
		{"html", "🦜 <code>x</code>", "🦜 x", []Entity{e("code", 3, 1)}},
		{"HTML", `<a href="https://example.org/a_b">link</a>`, "link", []Entity{link}},
		{"HTML", `<pre><code class="language-go">x = 1</code></pre>`, "x = 1", []Entity{pre}},
		{"HTML", `<blockquote expandable>q</blockquote><span class="tg-spoiler">s</span>`, "qs", []Entity{e("expandable_blockquote", 0, 1), e("spoiler", 1, 1)}},
		{"MarkdownV2", "a *b _c_* __d__ ~e~ ||f|| `g\\_`\\.", "a b c d e f g_.", []Entity{
			e("bold", 2, 3), e("italic", 4, 1), e("underline", 6, 1), e("strikethrough", 8, 1), e("spoiler", 10, 1), e("code", 12, 2),
		}},
		{"MarkdownV2", `[link](https://example.org/a\_b)`, "link", []Entity{link}},
		{"MarkdownV2", "```go\nx = 1```", "x = 1", []Entity{pre}},
		{"Markdown", "*b* and 2.5!", "b and 2.5!", []Entity{e("bold", 0, 1)}},
		{"", " \n bare @parley_bot\r\x01 ", "bare @parley_bot", []Entity{e("mention", 5, 11)}},
	} {
		got, refused := format(params{"text": c.in, "parse_mode": c.mode})
		if refused != nil {
			t.Errorf("%s %q: %s", c.mode, c.in, refused.text)
			continue
		}
		if diff := cmp.Diff(c.want, got.entities); got.text != c.text || diff != "" {
			t.Errorf("%s %q: %q %s", c.mode, c.in, got.text, diff)
		}
	}
}

func TestEntitiesMoveWithWhatIsTrimmed(t *testing.T) {
	t.Parallel()
	in := params{"text": "  a\r\nbold  ", "entities": `[{"type":"bold","offset":5,"length":6},{"type":"italic","offset":0,"length":2}]`}
	got, refused := format(in)
	want := formatted{text: "a\nbold", entities: []Entity{{Type: "bold", Offset: 2, Length: 4}}}
	if refused != nil || got.text != want.text || !cmp.Equal(got.entities, want.entities) {
		t.Errorf("%+v, %v", got, refused)
	}
}

// FuzzFormat holds every accepted text to the promise about its entities.
func FuzzFormat(f *testing.F) {
	f.Add("", "a @name /cmd https://x.y #z", `[{"type":"bold","offset":0,"length":3}]`)
	f.Add("HTML", "<b>a<i>🦜</i></b>", "")
	f.Add("MarkdownV2", "*a* _b_ `c` [d](https://e.f) \\.", "")
	f.Add("Markdown", "*a [b](c", "")
	f.Add("", " \r\n\x00🦜 ", `[{"type":"code","offset":1,"length":3}]`)
	f.Fuzz(func(t *testing.T, mode, text, entities string) {
		got, refused := format(params{"parse_mode": mode, "text": text, "entities": entities})
		if refused != nil || !utf8.ValidString(text) {
			return
		}
		size := units(got.text)
		for _, e := range got.entities {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > size {
				t.Errorf("%q: entity %+v outside %q", text, e, got.text)
			}
		}
	})
}
