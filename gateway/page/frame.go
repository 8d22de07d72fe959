package page

import (
	"time"

	h "parley/gateway/hypertext"
)

// Frame is what pages have around them: when they are shown, and to whom.
type Frame struct {
	Now   time.Time
	Token string // of the forms
	By    string // who is logged in; empty: nobody

	below   string // the path of the pages; see [Server]
	notices []notice
}

// Around returns a page with its frame, as HTML.
func (f Frame) Around(p Page) string {
	heading := p.Heading
	if heading == nil {
		heading = Line(p.Title)
	}
	return h.Document(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("robots"), h.Content("noindex")),
			h.TitleOf(Line(p.Title), h.Text(" – parley")),
			h.Resource(h.Rel("icon"), h.Href(h.At("static", "icon.svg")), h.Type("image/svg+xml")),
			h.Resource(h.Rel("stylesheet"), h.Href(h.At("static", "page.css"))),
			h.Script(h.Src(h.At("static", "page.js")), h.Defer()),
		),
		h.Body(h.If(p.Refresh, h.Data("refresh")),
			h.Link(h.Part("main"), h.Class("skip"), h.Text("Skip to the content")),
			h.Header(
				h.Link(h.At(""), h.Class("brand"), h.Text("parley")),
				h.If(f.By != "", sections(p.Here)),
			),
			h.Main(h.ID("main"), h.TabIndex("-1"),
				h.H1(heading),
				h.Map(f.notices, notice.show),
				p.Body(f),
			),
			h.If(f.By != "", f.foot()),
		),
	), f.below)
}

// sections leads to the sections of the page, of which one is shown.
func sections(here string) h.Node {
	section := func(at, name, title string) h.Node {
		return h.Link(h.At(at), h.If(name == here, h.Aria("current", "page")), h.Text(title))
	}
	return h.Nav(h.Aria("label", "Sections"),
		section("", "overview", "Overview"),
		section("waiting", "waiting", "Waiting"),
		section("sessions", "sessions", "Sessions"),
		section("trouble", "trouble", "Trouble"),
		section("actions", "actions", "Actions"),
	)
}

// show writes what became of an action.
func (n notice) show() h.Node {
	class := "notice"
	if n.Bad {
		class += " bad"
	}
	return h.P(h.Class(class), h.Role("status"), Block(n.Text))
}

// foot says when the page was made, and logs out.
func (f Frame) foot() h.Node {
	return h.Footer(
		h.P(h.Text("As of "), Moment(f.Now, When(f.Now)+" UTC"), h.Text(". "),
			h.Button(h.Type("button"), h.ID("pause"), h.Hidden(), h.Text("Pause refreshing"))),
		f.Form(h.At("logout"), "", h.Text("Logged in as "), Line(f.By), h.Text(". "), h.Button(h.Text("Log out"))),
	)
}
