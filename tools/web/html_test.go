package web

import (
	"flag"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func at(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestConvert(t *testing.T) {
	t.Parallel()
	const file = "testdata/pages.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		in, out := a.Files[i], &a.Files[i+1]
		title, text, left, err := convert(string(in.Data), at(t, "https://example.org/a/b?c"))
		if err != nil || left {
			t.Errorf("%s: left %v, %v", in.Name, left, err)
		}
		if title != "" {
			text = "title: " + title + "\n" + text
		}
		got := strings.TrimRight(text, "\n") + "\n"
		if *update {
			out.Data = []byte(got)
		} else if d := cmp.Diff(string(out.Data), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", in.Name, d)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The converter has no limits of its own, and a page can be written so that each of its bytes
// becomes hundreds.
func TestConvertBounds(t *testing.T) {
	t.Parallel()
	const size = maxBody / 64
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"10,000 elements in each other": strings.Repeat("<div>", 10_000) + "deep words" + strings.Repeat("</div>", 10_000),
		"500 elements around much":      strings.Repeat("<div>", 500) + fill("deep words "),
		"quotes in quotes":              strings.Repeat("<blockquote>", 500) + "deep words" + fill("a<br>"),
		"lists in lists":                strings.Repeat("<ul><li>", 250) + "deep words" + fill("a<br>"),
		"cells that span":               "deep words<table>" + fill("<tr><td colspan=20 rowspan=20>a"),
		"rows below a long one":         "deep words<table><tr>" + strings.Repeat("<td>", 3_000) + strings.Repeat("<tr><td>", 3_000),
		"lines in lists":                "deep words" + strings.Repeat("<ol start=9999><li>", 8) + "<pre>" + fill("\n"),
		"a wide cell above many":        "deep words<table><tr><td>" + strings.Repeat("x", size/4) + fill("<tr><td>a"),
		"tables in tables":              "deep words" + fill("<table><tr><td>"),
		"links":                         "deep words" + fill("<a href=/x>y</a>"),
		"emphasis that never ends":      "deep words" + fill("<b><i>"),
		"brackets":                      "deep words" + fill("[![`*_"),
	} {
		_, out, _, err := convert(text, at(t, "https://example.org/"))
		if err != nil || !strings.Contains(out, "deep words") || len(out) > 20*size {
			t.Errorf("%s: %d bytes of %d, %v", name, len(out), len(text), err)
		}
	}
}

func TestConvertSaysThatItLeavesSomethingOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		strings.Repeat("<i>a</i>", maxNodes/2-10):    false,
		strings.Repeat("<i>a</i>", maxNodes/2+10):    true,
		"<p>" + strings.Repeat("a", maxContent-10):   false,
		"<p>" + strings.Repeat("ä", maxContent/2+10): true,
	} {
		_, out, left, err := convert(text+"<p>end", at(t, "https://example.org/"))
		if err != nil || left != want || strings.Contains(out, "end") == want || !strings.ContainsAny(out, "aä") {
			t.Errorf("%.20s… of %d bytes: left %v, %v", text, len(text), left, err)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a  b\n\nc":                        "a b c",
		"<strong>bold</strong> &amp; more": "bold & more",
		"1 < 2":                            "1 < 2",
		"it&#x27;s":                        "it's",
		"a\u202eb\u200bc":                  "abc",
		"&lt;b&gt;":                        "<b>",
	} {
		if got := line(in, 100); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := line(strings.Repeat("ä", 10), 5); got != "ää…" {
		t.Errorf("got %q", got)
	}
}
