package hypertext

import "testing"

// What others chose is one step of an address, or one value, and leads nowhere else.
func TestAddress(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Address{
		"/":                     At(""),
		"/sessions":             At("sessions"),
		"/sessions/a1/turns/b2": At("sessions", "a1", "turns", "b2"),
		"/sessions/%2F%2Fevil.example%2F%3Fx%23y": At("sessions", "//evil.example/?x#y"),
		"/sessions/javascript:alert%281%29":       At("sessions", "javascript:alert(1)"),
		"#x%22y":                                  Part(`x"y`),
		"?words=1":                                Address{}.With("words", "1"),
		"/sessions?sort=cost&amp;channel=a%26page%3D9+%22&amp;page=2": At("sessions").With("sort", "cost", "channel", `a&page=9 "`, "page", "2"),
	} {
		if got := Document(Link(a), ""); got != `<!doctype html><a href="`+want+`"></a>` {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A site below a path has all its addresses there; those within a document stay as they are.
func TestAddressBelowAPath(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]Node{
		`<a href="/s/x/"></a>`:                  Link(At("")),
		`<form action="/s/x/sessions"></form>`:  Form(Action(At("sessions"))),
		`<script src="/s/x/static/a"></script>`: Script(Src(At("static", "a"))),
		`<a href="#y"></a>`:                     Link(Part("y")),
		`<a href="?words=1"></a>`:               Link(Address{}.With("words", "1")),
		`<p class="/a"></p>`:                    P(Class("/a")),
	} {
		if got := Document(n, "/s/x"); got != "<!doctype html>"+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
