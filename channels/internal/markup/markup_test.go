package markup

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each golden file holds a Markdown text and what Telegram gets for it.
func TestMarkdownBecomesWhatTheGoldenFilesShow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if a.Files[0].Name != "in.md" {
				t.Fatalf("first file is %s, not in.md", a.Files[0].Name)
			}
			want := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{
				a.Files[0], {Name: "telegram", Data: []byte(show(Telegram(string(a.Files[0].Data), TelegramOptions{})))},
			}}
			if *update {
				if err := os.WriteFile(file, txtar.Format(want), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(want))); diff != "" {
				t.Errorf("(-golden +got)\n%s", diff)
			}
		})
	}
}

// show writes messages for people: the text, then each entity with the text
// under it.
func show(ms []Message) string {
	var b strings.Builder
	for i, m := range ms {
		if i > 0 {
			b.WriteString("=====\n")
		}
		for line := range strings.Lines(m.Text + "\n") {
			b.WriteString("|" + line)
		}
		units := utf16.Encode([]rune(m.Text))
		for _, e := range m.Entities {
			under, _ := json.Marshal(string(utf16.Decode(units[e.Offset : e.Offset+e.Length])))
			b.WriteString(e.Type + " " + string(under))
			if e.URL != "" {
				b.WriteString(" -> " + e.URL)
			}
			if e.Language != "" {
				b.WriteString(" in " + e.Language)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestInvisibleTextGivesNoMessage(t *testing.T) {
	t.Parallel()
	for _, md := range []string{"", " \n\t\n ", "\x00", "\u200b\u200d", "\u202e", "```\n```", "[x]: http://example.com", "****", "\u3164", "&#8203;", "&nbsp;", "> "} {
		if got := Telegram(md, TelegramOptions{}); got != nil && !IsVisible(got[0].Text) {
			t.Errorf("Telegram(%q) = %+v", md, got)
		}
	}
	for _, md := range []string{"", " \n\t\n ", "\x00", "\u200b\u200d", "\u202e", "```\n```", "&nbsp;"} {
		if got := Telegram(md, TelegramOptions{}); got != nil {
			t.Errorf("Telegram(%q) = %+v, want none", md, got)
		}
	}
}

func TestTextThatDeceivesIsMadeHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x00b":            "ab",
		"a\xffb":            "a\uFFFDb",
		"abc\u202Edef":      "abcdef",
		"a\u2066b\u2069":    "ab",
		"a &#8238; b":       "a  b",
		"a\r\nb":            "a\nb",
		"\x1b[31mred":       "[31mred",
		"shalom \u200Fx":    "shalom \u200Fx",
		"&lt;b&gt; \\&amp;": "<b> &amp;",
		"1 &amp;lt; 2":      "1 &lt; 2",
		"family 👨‍👩‍👧‍👦":    "family 👨‍👩‍👧‍👦",
	} {
		got := Telegram(in, TelegramOptions{})
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("Telegram(%q) = %+v, want %q", in, got, want)
		}
	}
}

func TestOnlySafeAddressesBecomeLinks(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"http://a.example/b?c=d#e": true, "https://a.example": true, "tg://resolve?domain=x": true,
		"mailto:a@b.example": true, "HTTPS://A.example": true,
		"javascript:alert(1)": false, "data:text/html,x": false, "file:///etc/passwd": false,
		"//a.example": false, "docs/x.md": false, "#top": false, "https://": false,
		"java&#115;cript:alert(1)": false, "vbscript:x": false, "http://a.example/" + strings.Repeat("x", 3000): false,
	} {
		got := Telegram("[label]("+address+")", TelegramOptions{})
		if len(got) != 1 || got[0].Text != "label" || (len(got[0].Entities) == 1) != ok {
			t.Errorf("%s: %+v, want a link: %v", address, got, ok)
		}
	}
}
