package web

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"
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
// becomes hundreds, and takes thousands of memory.
func TestConvertBounds(t *testing.T) { // alone: it measures what the process allocates
	const size = maxBody / 64
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	emphasis := "" // 500 that differ, because the parser keeps but three that are equal
	for i := range 500 {
		emphasis += fmt.Sprintf("<b a%03d>", i)
	}
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
		"emphasis in paragraphs":        "deep words<p>" + emphasis + fill("<p>x"),
		"an end that is passed over":    "deep words<p>" + emphasis + "<table>" + strings.Repeat("</b>", 500) + "</table>" + fill("<p>x"),
		"emphasis that only looks ended": "deep words" + strings.Repeat("<b>", 253) + strings.Repeat("</b>", 3) + "<div>" + strings.Repeat("</b>", 250) +
			"<p>" + emphasis[:len(emphasis)/2] + "</div>" + strings.Repeat("</b>", 250) + fill("<p>x"),
		"emphasis in a drawing":     "deep words<svg><title><p>" + emphasis + fill("<p>x") + "</title></svg>",
		"emphasis around a drawing": "deep words<p>" + strings.ReplaceAll(emphasis, "<b", "<<svg></svg>b") + fill("<p>x"),
		"a link":                    "deep words<p><a href=/x>" + fill("<p>x"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, out, _, err := convert(text, at(t, "https://example.org/"))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: %d MB of memory", name, took>>20)
		}
		if err != nil || !strings.Contains(out, "deep words") || len(out) > 20*size {
			t.Errorf("%s: %d bytes of %d, %v", name, len(out), len(text), err)
		}
	}
}

// What is in good order stays Markdown, however much there is of it.
func TestConvertKeepsWhatIsInOrder(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&page, `<p><i class="icon-%d"></i><b id=b%d>x<br></b> <svg><title>drawn</title><path d="M0"/></svg><a name=%d>`, i, i, i)
	}
	page.WriteString("<script>if (a<b && c) { x = '<b>' }</script><noscript><b>no script</b></noscript><svg><p><a href=/end>end</a>")
	_, out, _, err := convert(page.String(), at(t, "https://example.org/"))
	if err != nil || !strings.Contains(out, "[end](https://example.org/end)") || !strings.Contains(out, "**no script**") || strings.Contains(out, "drawn") {
		t.Errorf("%d bytes, %v: …%s", len(out), err, out[max(0, len(out)-200):])
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
