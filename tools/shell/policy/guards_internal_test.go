package policy

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func TestJudgeDeniesWhenItPanics(t *testing.T) {
	t.Parallel()
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	got := p.judge("ls", Place{}, func(*judge, *program) { panic("lost") })
	if got.Verdict != Deny || got.Text != "" || got.Reason != "the command could not be analysed" || !strings.Contains(got.Part, "lost at ") {
		t.Errorf("%+v", got)
	}
}

// No script is known in which the parser leaves an expansion in a text.
func TestPlainTextDeniesWhatTheParserLeft(t *testing.T) {
	t.Parallel()
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Verdict{"a": Read, "$": Read, `\$(rm)`: Read, "\\`": Read, "$(rm)": Deny, "${x}": Deny, "a`rm`": Deny, `\\$(rm)`: Deny, "$[1]": Deny} {
		j := newJudge(p, Place{})
		j.plainText(&syntax.Lit{Value: text})
		if j.verdict != want {
			t.Errorf("%q: %s, want %s", text, j.verdict, want)
		}
	}
}

func TestReadSed(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"p": "", "1,3p": "", "$d": "", "/a/,/b/!s/c/d/gI": "", "s|a/b|c|2;y/ab/cd/": "", "1!G;h;$!d": "", ":a;N;$!ba;s/\\n/ /g": "", "s/a\\\nb/c/": "",
		"/x/{n;p}": "", "$a\\\ntext; e rm\n1d": "", "s/[a-z]*//;t": "", "# e\np": "", "\n": "", "s/\\//x/": "",
		"1e rm": "e", "e": "e", "s/a/b/ge": "e", "s/a/b/;e ls": "e", "/a/{e ls\n}": "e", "a x\ne ls": "e", "1~2e": "e", "$!{p;e": "e", "y/a/b/;s,x,y,e": "e",
		"w f": "w", "r f": "w", "s/a/b/w f": "w", "R f": "w", "p;W f": "w",
		"\\,a,p": "?", "s/[/]x/y/": "?", "k": "?", "s/a": "?", "/a": "?", "1": "?", "s/a/b/k": "?", "v;e": "?", "s/a\nb/c/": "?", "s/a/b\n/": "?", "/a\n/p": "?", "/[]/p;/]/p": "?", "/[^]/p;/]/p": "?",
	} {
		kind, ok := readSed(script)
		got := strings.Trim(string(kind), "\x00")
		if !ok && kind == 0 {
			got = "?"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}
