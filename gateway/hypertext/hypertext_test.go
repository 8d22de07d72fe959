package hypertext

import (
	"strings"
	"testing"
)

// Texts and values are escaped; attributes stand in the tag of what they are given to, also in groups.
func TestDocument(t *testing.T) {
	t.Parallel()
	const evil = `</p><script>a("b")</script>'&`
	const escaped = `&lt;/p&gt;&lt;script&gt;a(&#34;b&#34;)&lt;/script&gt;&#39;&amp;`
	for want, n := range map[string]Node{
		`<p class="` + escaped + `">` + escaped + `</p>`:        P(Text(evil), Class(evil)),
		`<p aria-label="` + escaped + `">1 ` + escaped + `</p>`: P(Group{Group{Aria("label", evil)}, Textf("%d %s", 1, evil)}),
		`<input name="` + escaped + `" required>`:               Input(Text("gone"), Name(evil), Required()),
		`<ul><li>a</li><li>b</li></ul>`:                         Ul(Map([]string{"a", "b"}, func(s string) Node { return Li(Text(s)) }), If(false, Li()), nil),
		`<p></p>`:                                               P(If(false, Text("x")), Group(nil)),
	} {
		if got := strings.TrimPrefix(Document(n, ""), "<!doctype html>"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
